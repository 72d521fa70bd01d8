// `exact` at every length and layout: fusion off, auto and all, 1 and 2 threads, against the
// evaluator, bit for bit. And a row's bits among other rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "support/compiled_programs.h"
#include "support/interpret_plan.h"

namespace ingot::testing {
namespace {

constexpr int64_t lengths[] = {0, 1, 3, 7, 8, 9, 17, 33, 1000003};
constexpr FusionMode modes[] = {FusionMode::off, FusionMode::automatic, FusionMode::all};
constexpr const char* mode_names[] = {"off", "auto", "all"};

// ---- memory of a tensor

enum class Layout { aligned, offset, odd_address, strided, negative, repeated };
constexpr const char* layout_names[] = {"aligned", "offset",   "odd address",
                                        "strided", "negative", "repeated"};

// A logical tensor laid out in memory of its own, everything else of it filled with a pattern.
class Placed {
 public:
  Placed(DType dtype, std::vector<int64_t> shape, Layout layout) : width_(byte_size(dtype)) {
    view_.dtype = dtype;
    view_.shape = shape;
    int64_t stride = layout == Layout::strided || layout == Layout::negative ? 2 : 1;
    int64_t first = layout == Layout::offset ? 1 : 0;
    view_.strides.resize(shape.size());
    for (size_t d = shape.size(); d-- > 0;) {
      int64_t sign = layout == Layout::negative ? -1 : 1;
      view_.strides[d] = layout == Layout::repeated && d == 0 ? 0 : sign * stride;
      if (sign < 0) first += stride * std::max<int64_t>(shape[d] - 1, 0);
      stride *= shape[d];
      if (layout == Layout::strided) stride += 3;
    }
    if (layout == Layout::aligned) view_.strides.clear();
    int64_t odd = layout == Layout::odd_address ? 1 : 0;
    memory_ = Tensor(DType::u8, {(stride + first + 2) * width_ + odd});
    std::memset(memory_.data(), pattern, static_cast<size_t>(memory_.bytes()));
    view_.data = memory_.data() + first * width_ + odd;
  }

  void write(const Tensor& logical) {
    for_each_run([&](std::byte* run, int64_t i, int64_t bytes) {
      std::memcpy(run, logical.data() + i * width_, static_cast<size_t>(bytes));
    });
  }
  Tensor read() const {
    Tensor logical(view_.dtype, view_.shape);
    for_each_run([&](const std::byte* run, int64_t i, int64_t bytes) {
      std::memcpy(logical.data() + i * width_, run, static_cast<size_t>(bytes));
    });
    return logical;
  }
  // Whether only the elements were written; forgets them.
  bool intact_around() {
    for_each_run([&](std::byte* run, int64_t, int64_t bytes) {
      std::memset(run, pattern, static_cast<size_t>(bytes));
    });
    const std::byte* data = memory_.data();
    return data[0] == std::byte{pattern} &&
           std::memcmp(data, data + 1, static_cast<size_t>(memory_.bytes() - 1)) == 0;
  }
  const TensorView& view() const { return view_; }

 private:
  static constexpr int pattern = 0xA5;

  // Elements that lie side by side: f(address, number of the first, bytes).
  template <class F>
  void for_each_run(F f) const {
    auto* data = static_cast<std::byte*>(view_.data);
    int64_t columns = view_.shape.empty() ? 1 : view_.shape.back(), rows = 1;
    for (size_t d = 0; d + 1 < view_.shape.size(); ++d) rows *= view_.shape[d];
    if (rows * columns == 0) return;
    const std::vector<int64_t>& strides = view_.strides;
    if (strides.empty()) return f(data, 0, rows * columns * width_);
    const int64_t row_stride = strides.size() > 1 ? strides[0] : 0;  // rank 2 at most
    for (int64_t r = 0; r < rows; ++r) {
      std::byte* row = data + r * row_stride * width_;
      if (strides.back() == 1) {
        f(row, r * columns, columns * width_);
        continue;
      }
      for (int64_t c = 0; c < columns; ++c) {
        f(row + c * strides.back() * width_, r * columns + c, width_);
      }
    }
  }

  int64_t width_;
  Tensor memory_;
  TensorView view_;
};

// ---- programs

struct TypedProgram {
  std::string name, text;
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::vector<TypedProgram> programs_of(DType dtype) {
  std::vector<TypedProgram> programs;
  if (dtype == DType::boolean) {
    programs = {
        {"elementwise", R"(graph g(x: T[N], y: T[N]) {
          a = and(x, y) b = xor(a, x) c = not(b) d = select(x, c, y) return d, b })"},
        {"row", R"(graph g(x: T[2, N], w: T[N]) {
          a = any(x, dims=[1], keepdims=true) d = xor(x, a) o = or(d, w)
          e = all(o, dims=[1]) return o, e, a })"},
        {"column", R"(graph g(x: T[N, 3]) {
          a = any(x, dims=[0]) d = xor(x, a) e = all(d, dims=[0]) return d, e, a })"},
        {"full", R"(graph g(x: T[N]) { a = any(x) n = not(x) b = all(n) return a, b })"},
    };
  } else if (is_integer(dtype)) {
    programs = {
        {"elementwise", R"(graph g(x: T[N], y: T[N]) {
          a = add(x, y) m = mul(a, 3) d = div(m, y) r = mod(x, y) s = shift_right(d, 1)
          z = maximum(s, r) return z, m })"},
        {"row", R"(graph g(x: T[2, N], w: T[N]) {
          m = max(x, dims=[1], keepdims=true) d = sub(m, x) s = sum(d, dims=[1], keepdims=true)
          q = div(s, d) p = mul(q, w) return p, s, m })"},
        {"column", R"(graph g(x: T[N, 3]) {
          s = sum(x, dims=[0]) m = min(x, dims=[0]) d = sub(x, m) return d, s, m })"},
        {"full", R"(graph g(x: T[N]) {
          s = sum(x) m = max(x) q = mul(x, x) v = sum(q) p = prod(x) return s, m, v, p })"},
    };
  } else {
    programs = {
        {"elementwise", R"(graph g(x: T[N], y: T[N]) {
          a = add(x, y) m = mul(a, 0.3) u = gelu(m) z = maximum(u, x) return z, m })"},
        {"row", R"(graph g(x: T[2, N], w: T[N]) {
          m = max(x, dims=[1], keepdims=true) d = sub(x, m) e = exp(d)
          s = sum(e, dims=[1], keepdims=true) p = div(e, s) n = rms_norm(x, w) q = mul(n, p)
          return q, n, s })"},
        {"column", R"(graph g(x: T[N, 3]) {
          s = sum(x, dims=[0]) m = max(x, dims=[0]) d = sub(x, m) return d, s, m })"},
        {"full", R"(graph g(x: T[N]) {
          s = sum(x) m = min(x) q = mul(x, x) v = sum(q) a = mean(x) return s, m, v, a })"},
    };
  }
  for (TypedProgram& program : programs) {
    program.text = replaced(program.text, "T[", std::string(dtype_name(dtype)) + "[");
  }
  return programs;
}

std::vector<PlannedProgram> in_all_modes(const Graph& source) {
  std::vector<PlannedProgram> planned;
  const Graph graph = run_graph_passes(source);
  for (FusionMode mode : modes) {
    PlanOptions options;
    options.fusion = mode;
    planned.push_back({graph, make_plan(graph, device_model("cpu"), options)});
  }
  return planned;
}

// The first row for all rows, as a stride of 0 shows it.
Tensor repeated_rows(const Tensor& tensor) {
  Tensor result(tensor.dtype(), tensor.shape());
  if (tensor.size() == 0) return result;
  const int64_t row = tensor.bytes() / tensor.shape()[0];
  for (int64_t r = 0; r < tensor.shape()[0]; ++r) {
    std::memcpy(result.data() + r * row, tensor.data(), static_cast<size_t>(row));
  }
  return result;
}

// ---- lengths

class Lengths : public ::testing::TestWithParam<DType> {
 protected:
  // One program at one length: the modes, threads and layouts of inputs and outputs.
  void compare(const std::string& name, const Graph& source, const CompiledProgram* compiled,
               int64_t length) {
    const std::vector<Tensor> inputs = random_inputs(source, {{"N", length}}, 5, false);
    const std::vector<Tensor> expected = evaluate(source, inputs, Precision::per_op);
    std::vector<Tensor> rows = inputs;
    std::transform(rows.begin(), rows.end(), rows.begin(), repeated_rows);
    const std::vector<Tensor> of_rows = evaluate(source, rows, Precision::per_op);
    for (size_t mode = 0; mode < std::size(modes); ++mode) {
      for (int threads : {1, 2}) {
        const Executable executable = compiled[mode].executable(threads);
        const std::string where =
            fmt::format("{} {}, {}={}, fusion {}, threads {}", name, dtype_name(GetParam()), "N",
                        length, mode_names[mode], threads);
        check(executable, inputs, expected, Layout::aligned, Layout::aligned, where);
        // Where it takes long: two modes without alignment, and packing, which knows no modes,
        // once.
        if (length > 1000 && mode == 2) continue;
        check(executable, inputs, expected, Layout::offset, Layout::offset, where);
        if (length > 1000 && (mode == 0 || threads == 1)) continue;
        check(executable, inputs, expected, Layout::odd_address, Layout::strided, where);
        check(executable, inputs, expected, Layout::strided, Layout::odd_address, where);
        check(executable, inputs, expected, Layout::negative, Layout::negative, where);
        check(executable, rows, of_rows, Layout::repeated, Layout::offset, where);
      }
    }
  }

  static void check(const Executable& executable, const std::vector<Tensor>& inputs,
                    const std::vector<Tensor>& expected, Layout in, Layout out,
                    const std::string& where) {
    std::vector<Placed> sources, results;
    std::vector<TensorView> input_views, output_views;
    for (const Tensor& input : inputs) {
      sources.emplace_back(input.dtype(), input.shape(), in).write(input);
      input_views.push_back(sources.back().view());
    }
    for (const Tensor& result : expected) {
      results.emplace_back(result.dtype(), result.shape(), out);
      output_views.push_back(results.back().view());
    }
    executable.run(input_views, output_views);
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::string place = fmt::format("{}, inputs {}, outputs {}, output {}", where,
                                            layout_names[static_cast<size_t>(in)],
                                            layout_names[static_cast<size_t>(out)], i);
      EXPECT_EQ(first_difference(results[i].read(), expected[i]), "") << place;
      EXPECT_TRUE(results[i].intact_around()) << place;
    }
  }
};

TEST_P(Lengths, AllModesLayoutsAndThreadsGiveTheEvaluatorsBits) {
  std::vector<Graph> sources;
  std::vector<PlannedProgram> planned;
  const std::vector<TypedProgram> programs = programs_of(GetParam());
  for (const TypedProgram& program : programs) {
    sources.push_back(parse_graph(program.text, program.name));
    for (PlannedProgram& each : in_all_modes(sources.back())) planned.push_back(std::move(each));
  }
  const std::vector<CompiledProgram> compiled = compile_programs(planned, "");
  for (size_t i = 0; i < programs.size(); ++i) {
    for (int64_t length : lengths) {
      compare(programs[i].name, sources[i], &compiled[i * std::size(modes)], length);
    }
  }
}

// Of each way to load, store and compute one; EveryOp has all dtypes.
INSTANTIATE_TEST_SUITE_P(Types, Lengths,
                         ::testing::Values(DType::boolean, DType::i8, DType::i32, DType::i64,
                                           DType::u8, DType::u32, DType::u64, DType::f16,
                                           DType::bf16, DType::f32, DType::f64),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

// ---- rows

class Rows : public ::testing::TestWithParam<DType> {};

// The rows [first, first + count) of a tensor.
Tensor rows_of(const Tensor& tensor, int64_t first, int64_t count) {
  std::vector<int64_t> shape = tensor.shape();
  const int64_t row = shape[0] == 0 ? 0 : tensor.bytes() / shape[0];
  shape[0] = count;
  Tensor result(tensor.dtype(), shape);
  if (row > 0) {
    std::memcpy(result.data(), tensor.data() + first * row, static_cast<size_t>(count * row));
  }
  return result;
}

TEST_P(Rows, BitsDependNeitherOnTheNumberOfRowsNorOnThreads) {
  const std::string text = replaced(R"(graph g(x: T[B, N], w: T[N], b: T[N]) {
      p = softmax(x, dim=-1) l = layer_norm(x, w, b) r = rms_norm(x, w)
      s = sum(x, dims=[1]) m = max(x, dims=[1]) return p, l, r, s, m })",
                                    "T[", std::string(dtype_name(GetParam())) + "[");
  const Graph source = parse_graph(text, "rows");
  const std::vector<CompiledProgram> compiled = compile_programs(in_all_modes(source), "");
  // Rows of 70000 run in parts when there are few of them.
  for (auto [rows, length] :
       {std::pair{1000, 33}, {1000, 257}, {1000, 1000}, {40, 9001}, {12, 70000}}) {
    std::vector<Tensor> inputs = random_inputs(source, {{"B", rows}, {"N", length}}, 3);
    const std::vector<Tensor> all = run(compiled[1].executable(2), inputs);
    for (size_t mode = 0; mode < std::size(modes); ++mode) {
      for (int threads : {1, 2}) {
        const Executable executable = compiled[mode].executable(threads);
        for (int64_t count : {1, 3, rows}) {
          const int64_t first = count == rows ? 0 : rows / 2;
          std::vector<Tensor> few = inputs;
          few[0] = rows_of(inputs[0], first, count);
          const std::vector<Tensor> got = run(executable, few);
          for (size_t i = 0; i < got.size(); ++i) {
            EXPECT_EQ(first_difference(got[i], rows_of(all[i], first, count)), "")
                << fmt::format("rows of {}: {} of {}, fusion {}, threads {}, output {}", length,
                               count, rows, mode_names[mode], threads, i);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Rows, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

}  // namespace
}  // namespace ingot::testing
