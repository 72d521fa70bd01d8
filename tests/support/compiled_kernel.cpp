#include "support/compiled_kernel.h"

#include <cstring>

#include <gtest/gtest.h>

#include "support/random.h"

namespace ingot::testing {
namespace {

void fill(Tensor& tensor, uint64_t seed) {
  Random random(seed);
  constexpr double specials[] = {
      0.0,           -0.0,   1.0,   -1.0, 0.5,   __builtin_inf(),   -__builtin_inf(),
      1e-40,         -1e-40, 3e38,  88.7, -88.7, __builtin_nan(""), 2147483648.0,
      -2147483649.0, 255.5,  1e-310};
  constexpr int64_t integers[] = {0,         1,         -1,        2,        31,
                                  32,        63,        64,        255,      INT32_MIN,
                                  INT32_MAX, INT64_MIN, INT64_MAX, 1L << 53, (1L << 53) + 1,
                                  16777217};
  for (int64_t i = 0; i < tensor.size(); i++) {
    uint64_t bits = random.next();
    double normal = static_cast<double>(static_cast<int64_t>(random.next())) * 0x1p-61;
    if (tensor.dtype() == DType::boolean) {
      tensor.set_i64(i, static_cast<int64_t>(bits >> 40 & 1));
    } else if (bits % 3 == 0) {
      int64_t size = byte_size(tensor.dtype());
      std::memcpy(tensor.data() + i * size, &bits, static_cast<size_t>(size));
    } else if (is_float(tensor.dtype())) {
      tensor.set_f64(i, bits % 3 == 1 ? specials[bits / 3 % std::size(specials)] : normal);
    } else {
      tensor.set_i64(i, bits % 3 == 1 ? integers[bits / 3 % std::size(integers)]
                                      : static_cast<int64_t>(normal * 64));
    }
  }
}

std::vector<Memory> copies(const std::vector<Memory>& memories) {
  std::vector<Memory> result;
  for (const Memory& memory : memories) {
    result.push_back({memory.elements, Tensor(memory.data.dtype(), memory.data.shape())});
    std::memcpy(result.back().data.data(), memory.data.data(),
                static_cast<size_t>(memory.data.bytes()));
  }
  return result;
}

std::vector<std::string> run_interpreter(const loop::Kernel& kernel, const Bindings& sizes,
                                         std::vector<Memory>& memories) {
  std::vector<loop::BufferRef> buffers;
  for (Memory& memory : memories) buffers.push_back({memory.data.data(), memory.elements});
  return loop::interpret(kernel, buffers, sizes);
}

// Each phase in two calls, as two threads would make them. Returns the report's number, 0 for none.
int run_compiled(const KernelSource& source, const Library& library, const Bindings& sizes,
                 std::vector<Memory>& memories) {
  std::vector<void*> buffers;
  for (Memory& memory : memories) buffers.push_back(memory.data.data());
  std::vector<long> size_values;
  for (const std::string& size : source.sizes) size_values.push_back(sizes.find(size)->second);
  Tensor scratch(DType::u8, {source.scratch_bytes.evaluate(sizes) + 64});
  KernelReport report{};
  KernelCall call{};
  call.buffers = buffers.data();
  call.sizes = size_values.data();
  call.scratch = scratch.as<char>();
  call.report = &report;
  for (const PhaseSource& phase : source.phases) {
    long extent = phase.extent.evaluate(sizes);
    for (auto [begin, end] : {std::pair{0L, extent / 2}, std::pair{extent / 2, extent}}) {
      call.begin = begin;
      call.end = end;
      library.entry(phase.symbol)(&call);
    }
  }
  return static_cast<int>(report.number);
}

bool same_element(const Tensor& a, const Tensor& b, int64_t index) {
  auto size = static_cast<size_t>(byte_size(a.dtype()));
  size_t offset = static_cast<size_t>(index) * size;
  if (std::memcmp(a.data() + offset, b.data() + offset, size) == 0) return true;
  if (!is_float(a.dtype())) return false;
  double x = a.get_f64(index), y = b.get_f64(index);
  return x != x && y != y;
}

}  // namespace

std::vector<Memory> make_memories(const loop::Kernel& kernel, const Bindings& sizes,
                                  uint64_t seed) {
  std::vector<Memory> memories;
  for (const loop::Param& param : kernel.params) {
    int64_t elements = param.elements.evaluate(sizes);
    memories.push_back({elements, Tensor(param.dtype, {elements + Memory::margin})});
    fill(memories.back().data, seed + memories.size());
  }
  return memories;
}

void make_moderate(Tensor* tensor, uint64_t seed, uint64_t keep) {
  Random random(seed);
  for (int64_t i = 0; i < tensor->size(); ++i) {
    const double value = static_cast<double>(random.below(4096)) / 1024 - 2;
    if (keep == 0 || random.next() % keep != 0) tensor->set_f64(i, value);
  }
}

Compiled compile_kernels(const std::vector<std::string>& texts) {
  Compiled result;
  for (const std::string& text : texts) {
    result.kernels.push_back(loop::parse_kernel(text, "<test>"));
    loop::verify(result.kernels.back(), "test");
    result.sources.push_back(emit_cpp(result.kernels.back()));
  }
  std::vector<const KernelSource*> pointers;
  for (const KernelSource& source : result.sources) pointers.push_back(&source);
  result.library = compile({{"emit_test", translation_unit(pointers)}}, {})[0];
  return result;
}

void expect_same(const Compiled& compiled, size_t number, const Bindings& sizes, uint64_t seed,
                 const Prepare& prepare) {
  const loop::Kernel& kernel = compiled.kernels[number];
  std::vector<Memory> expected = make_memories(kernel, sizes, seed);
  if (prepare) prepare(expected);
  std::vector<Memory> actual = copies(expected);
  std::vector<std::string> reports = run_interpreter(kernel, sizes, expected);
  int report = run_compiled(compiled.sources[number], compiled.library, sizes, actual);
  EXPECT_EQ(reports.empty(), report == 0) << kernel.name;
  for (size_t i = 0; i < expected.size(); i++) {
    for (int64_t e = 0; e < expected[i].data.size(); e++) {
      if (same_element(expected[i].data, actual[i].data, e)) continue;
      ADD_FAILURE() << kernel.name << ": " << kernel.params[i].name << "[" << e << "] of "
                    << expected[i].elements << ": interpreter " << expected[i].data.get_f64(e)
                    << ", compiled " << actual[i].data.get_f64(e) << "\n"
                    << compiled.sources[number].text;
      return;
    }
  }
}

}  // namespace ingot::testing
