// The loop interpreter: element by element, in the order of the text, every access checked.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "base/cuda_threads.h"
#include "base/error.h"
#include "base/report_text.h"
#include "loop/program.h"

namespace ingot::loop {
namespace {

constexpr size_t usual_lanes = 64;  // of an accumulator; more are those of a GPU's warp

Cell rounded(DType dtype, Cell value) {
  return compute_dtype(dtype) == dtype ? value
                                       : to_cell(dtype, round_to(dtype, to_scalar(dtype, value)));
}

template <class T>
T load_as(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

template <class T>
void store_as(void* data, int64_t index, T value) {
  std::memcpy(static_cast<char*>(data) + index * static_cast<int64_t>(sizeof(T)), &value,
              sizeof(T));
}

Cell read(DType dtype, const void* data, int64_t index) {
  Cell cell;
  switch (dtype) {
    case DType::boolean:
      cell.i = load_as<uint8_t>(data, index) != 0;
      break;
    case DType::i8:
      cell.i = load_as<int8_t>(data, index);
      break;
    case DType::i16:
      cell.i = load_as<int16_t>(data, index);
      break;
    case DType::u8:
      cell.i = load_as<uint8_t>(data, index);
      break;
    case DType::u16:
      cell.i = load_as<uint16_t>(data, index);
      break;
    case DType::u32:
      cell.i = load_as<uint32_t>(data, index);
      break;
    case DType::u64:
      cell.i = load_as<int64_t>(data, index);
      break;
    case DType::f8e4m3:
      cell.f = f8e4m3_value(load_as<uint8_t>(data, index));
      break;
    case DType::f8e5m2:
      cell.f = f8e5m2_value(load_as<uint8_t>(data, index));
      break;
    case DType::i32:
      cell.i = load_as<int32_t>(data, index);
      break;
    case DType::i64:
      cell.i = load_as<int64_t>(data, index);
      break;
    case DType::f16:
      cell.f = f16_value(load_as<uint16_t>(data, index));
      break;
    case DType::bf16:
      cell.f = bf16_value(load_as<uint16_t>(data, index));
      break;
    case DType::f32:
      cell.f = load_as<float>(data, index);
      break;
    case DType::f64:
      cell.d = load_as<double>(data, index);
      break;
  }
  return cell;
}

void write(DType dtype, void* data, int64_t index, Cell cell) {
  switch (dtype) {
    case DType::boolean:
      return store_as(data, index, static_cast<uint8_t>(cell.i != 0));
    case DType::i8:
    case DType::u8:
      return store_as(data, index, static_cast<uint8_t>(cell.i));
    case DType::i16:
    case DType::u16:
      return store_as(data, index, static_cast<uint16_t>(cell.i));
    case DType::i32:
    case DType::u32:
      return store_as(data, index, static_cast<uint32_t>(cell.i));
    case DType::i64:
    case DType::u64:
      return store_as(data, index, cell.i);
    case DType::f8e4m3:
      return store_as(data, index, f8e4m3_bits(cell.f));
    case DType::f8e5m2:
      return store_as(data, index, f8e5m2_bits(cell.f));
    case DType::f16:
      return store_as(data, index, f16_bits(cell.f));
    case DType::bf16:
      return store_as(data, index, bf16_bits(cell.f));
    case DType::f32:
      return store_as(data, index, cell.f);
    case DType::f64:
      return store_as(data, index, cell.d);
  }
}

// The step's formula on cells of its class.
Cell compute(const LetStep& s, Cell a, Cell b, Cell c) {
  const Cell &p = s.attrs[0], &q = s.attrs[1], &r = s.attrs[2];
  auto narrow = [](Cell cell) { return static_cast<int32_t>(cell.i); };
  Cell out;
  if (s.f32) {
    out.f = s.f32(a.f, b.f, c.f, p.f, q.f, r.f);
  } else if (s.f32_test) {
    out.i = s.f32_test(a.f, b.f, c.f, p.f, q.f, r.f);
  } else if (s.i64) {
    out.i = s.i64(a.i, b.i, c.i, p.i, q.i, r.i);
  } else if (s.i64_test) {
    out.i = s.i64_test(a.i, b.i, c.i, p.i, q.i, r.i);
  } else if (s.u64) {
    auto bits = [](Cell cell) { return static_cast<uint64_t>(cell.i); };
    out.i = static_cast<int64_t>(s.u64(bits(a), bits(b), bits(c), bits(p), bits(q), bits(r)));
  } else if (s.u64_test) {
    auto bits = [](Cell cell) { return static_cast<uint64_t>(cell.i); };
    out.i = s.u64_test(bits(a), bits(b), bits(c), bits(p), bits(q), bits(r));
  } else if (s.i32) {
    out.i = s.i32(narrow(a), narrow(b), narrow(c), narrow(p), narrow(q), narrow(r));
  } else if (s.i32_test) {
    out.i = s.i32_test(narrow(a), narrow(b), narrow(c), narrow(p), narrow(q), narrow(r));
  } else if (s.f64) {
    out.d = s.f64(a.d, b.d, c.d, p.d, q.d, r.d);
  } else if (s.f64_test) {
    out.i = s.f64_test(a.d, b.d, c.d, p.d, q.d, r.d);
  } else {
    out.i = s.test(a.i != 0, b.i != 0, c.i != 0, p.i != 0, q.i != 0, r.i != 0);
  }
  return out;
}

class Interpreter {
 public:
  Interpreter(const Kernel& kernel, const std::vector<BufferRef>& buffers, const Bindings& sizes)
      : kernel_(kernel), program_(prepare(kernel, sizes)), memory_(buffers) {
    INGOT_CHECK(buffers.size() == kernel.params.size(), "kernel {}: {} buffers for {} parameters",
                kernel.name, buffers.size(), kernel.params.size());
    for (const Program::Buffer& buffer : program_.buffers) {
      if (!buffer.scratch) continue;
      int64_t elements = buffer.elements.evaluate(program_.cells);
      scratch_.emplace_back(static_cast<size_t>(elements * byte_size(buffer.dtype)));
      memory_.push_back({scratch_.back().data(), elements});
    }
  }

  std::vector<std::string> run() {
    for (const Program::Phase& phase : program_.phases) {
      int64_t extent = phase.extent.evaluate(program_.cells);
      for (int64_t i = 0; i < extent; i++) {
        for (auto& bytes : scratch_) std::fill(bytes.begin(), bytes.end(), '\xff');
        program_.cells[phase.var].i = i;
        steps(phase.body);
      }
    }
    std::vector<std::string> reports;
    for (const auto& [report, number] : raised_) {
      reports.push_back(report_text(kernel_.reports.at(static_cast<size_t>(report)), number));
    }
    return reports;
  }

 private:
  void steps(const std::vector<Step>& body) {
    for (const Step& step : body) {
      std::visit([this](const auto& s) { run(s); }, step);
    }
  }

  Cell& cell(size_t number) { return program_.cells[number]; }

  int64_t checked(size_t buffer, int64_t index) const {
    const BufferRef& memory = memory_[buffer];
    if (index < 0 || index >= memory.elements) {
      fail_internal("interpret",
                    fmt::format("kernel {}: buffer '{}': index {} is not in [0, {})", kernel_.name,
                                program_.buffers[buffer].name, index, memory.elements));
    }
    return index;
  }

  Cell read_at(size_t buffer, int64_t index) const {
    return read(program_.buffers[buffer].dtype, memory_[buffer].data, checked(buffer, index));
  }

  void write_at(size_t buffer, int64_t index, Cell value) {
    write(program_.buffers[buffer].dtype, memory_[buffer].data, checked(buffer, index), value);
  }

  bool holds(const std::vector<Bounds>& guards) const {
    for (const Bounds& guard : guards) {
      int64_t value = guard.value.evaluate(program_.cells);
      if (value < guard.lo.evaluate(program_.cells) || value >= guard.hi.evaluate(program_.cells)) {
        return false;
      }
    }
    return true;
  }

  void run(const LetStep& s) {
    Cell a = cell(s.operands[0]);
    if (s.op == Op::cast) {
      Scalar value = convert(s.dtype, s.operand, to_scalar(s.operand, a));
      cell(s.result) = to_cell(s.dtype, value);
      return;
    }
    Cell b = s.operands.size() > 1 ? cell(s.operands[1]) : Cell();
    Cell c = s.operands.size() > 2 ? cell(s.operands[2]) : Cell();
    cell(s.result) =
        rounded(s.dtype, s.op == Op::select ? (a.i != 0 ? b : c) : compute(s, a, b, c));
  }

  void run(const LoadStep& s) {
    if (holds(s.guards)) {
      cell(s.result) = read_at(s.buffer, s.index.evaluate(program_.cells));
      return;
    }
    if (s.report >= 0) raised_[s.report] = s.reported.evaluate(program_.cells);
    cell(s.result) = s.otherwise;
  }

  void run(const IndexStep& s) {
    if (!s.guards.empty()) {
      cell(s.result).i = holds(s.guards);
      if (s.report >= 0 && cell(s.result).i == 0) {
        raised_[s.report] = s.reported.evaluate(program_.cells);
      }
      return;
    }
    Scalar value{0, s.value.evaluate(program_.cells)};
    cell(s.result) = to_cell(s.dtype, convert(s.dtype, DType::i64, value));
  }

  void run(const AccumulatorStep& s) {
    AccumulatorState& acc = program_.accumulators[s.accumulator];
    for (Cell& lane : acc.lanes) lane = s.from ? cell(*s.from) : acc.identity;
  }

  void run(const AccumulateStep& s) {
    AccumulatorState& acc = program_.accumulators[s.accumulator];
    const size_t number = s.lane ? static_cast<size_t>(s.lane->evaluate(program_.cells)) : lane_;
    Cell& lane = acc.lanes[number % acc.lanes.size()];
    lane = compute(acc.combine, lane, cell(s.value), Cell());
  }

  void run(const FinishStep& s) {
    const AccumulatorState& acc = program_.accumulators[s.accumulator];
    std::vector<Cell> lanes = acc.lanes;
    // `step` apart, from a half of `count` lanes on.
    const auto halve = [&](size_t count, size_t step) {
      for (size_t half = count / 2; half >= step; half /= 2) {
        for (size_t l = 0; l < lanes.size(); l += step) {
          if (l % count < half) lanes[l] = compute(acc.combine, lanes[l], lanes[l + half], Cell());
        }
      }
    };
    const size_t neighbours = lanes.size() > usual_lanes ? lanes.size() / cuda::warp : 1;
    halve(neighbours, 1);
    halve(lanes.size(), neighbours);
    // The extremes of the wider type that was computed in become the dtype's own.
    bool extreme = acc.op == Op::max || acc.op == Op::min;
    if (extreme && is_integer(s.dtype) && compute_dtype(s.dtype) != s.dtype) {
      IntegerLimits limits = integer_limits(s.dtype);
      lanes[0].i = std::clamp(lanes[0].i, limits.lowest, limits.highest);
    }
    cell(s.result) = rounded(s.dtype, lanes[0]);
  }

  void run(const StoreStep& s) {
    write_at(s.buffer, s.index.evaluate(program_.cells), cell(s.value));
  }

  void run(const std::shared_ptr<LoopStep>& s) {
    int64_t extent = s->extent.evaluate(program_.cells);
    for (int64_t row = 0; row < (s->across ? across_rows : 1); row++) {
      if (s->across) cell(*s->across).i = row;
      for (int64_t i = 0; i < extent; i++) {
        cell(s->var).i = i;
        if (s->vector) lane_ = static_cast<size_t>(i);
        steps(s->body);
      }
    }
  }

  void run(const TransposeStep& s) {
    auto number = [&](const Expression& e) { return e.evaluate(program_.cells); };
    int64_t dst = number(s.dst_index), src = number(s.src_index);
    int64_t across = number(s.dst_stride), down = number(s.src_stride);
    for (int64_t r = 0; r < number(s.rows); r++) {
      for (int64_t c = 0; c < number(s.columns); c++) {
        write_at(s.dst, dst + across * c + r, read_at(s.src, src + down * r + c));
      }
    }
  }

  void run(const ProductStep& s) {
    std::vector<int64_t> sizes;
    for (const Expression& size : s.sizes) sizes.push_back(size.evaluate(program_.cells));
    if (s.routine == "matmul") return matmul(s, sizes);
    if (s.routine == "conv") return conv(s, sizes);
    fail_internal("interpret", fmt::format("kernel {}: no routine '{}'", kernel_.name, s.routine));
  }

  // acc + a·b in the compute dtype, two roundings.
  static Cell multiply_add(DType dtype, Cell acc, Cell a, Cell b) {
    auto wrap = [](uint64_t value) { return static_cast<int64_t>(value); };
    switch (compute_dtype(dtype)) {
      case DType::f32:
        acc.f = acc.f + a.f * b.f;
        break;
      case DType::f64:
        acc.d = acc.d + a.d * b.d;
        break;
      case DType::i64:
      case DType::u64:
        acc.i = wrap(static_cast<uint64_t>(acc.i) +
                     static_cast<uint64_t>(a.i) * static_cast<uint64_t>(b.i));
        break;
      default:
        acc.i = static_cast<int32_t>(static_cast<uint32_t>(acc.i) +
                                     static_cast<uint32_t>(a.i) * static_cast<uint32_t>(b.i));
    }
    return acc;
  }

  static Cell zero(DType dtype) { return to_cell(dtype, {0, 0}); }

  void matmul(const ProductStep& s, const std::vector<int64_t>& sizes) {
    INGOT_CHECK(sizes.size() == 8, "matmul takes m n k lda ldb ldc transpose_a transpose_b");
    int64_t m = sizes[0], n = sizes[1], k = sizes[2], lda = sizes[3], ldb = sizes[4],
            ldc = sizes[5];
    int64_t dst = s.dst_index.evaluate(program_.cells), lhs = s.lhs_index.evaluate(program_.cells),
            rhs = s.rhs_index.evaluate(program_.cells);
    for (int64_t i = 0; i < m; i++) {
      for (int64_t j = 0; j < n; j++) {
        Cell acc = zero(s.dtype);
        for (int64_t l = 0; l < k; l++) {
          Cell a = read_at(s.lhs, lhs + (sizes[6] != 0 ? l * lda + i : i * lda + l));
          Cell b = read_at(s.rhs, rhs + (sizes[7] != 0 ? j * ldb + l : l * ldb + j));
          acc = multiply_add(s.dtype, acc, a, b);
        }
        write_at(s.dst, dst + i * ldc + j, acc);
      }
    }
  }

  // Counts through a box of `extents`, last dimension fastest.
  template <class F>
  static void each_point(const std::vector<int64_t>& extents, F visit) {
    std::vector<int64_t> point(extents.size(), 0);
    for (int64_t extent : extents) {
      if (extent <= 0) return;
    }
    while (true) {
      visit(point);
      size_t d = extents.size();
      while (d > 0 && ++point[d - 1] == extents[d - 1]) point[--d] = 0;
      if (d == 0) return;
    }
  }

  // Sizes as in run/product.h.
  void conv(const ProductStep& s, const std::vector<int64_t>& sizes) {
    INGOT_CHECK(sizes.size() >= 4 && sizes.size() == 4 + 8 * static_cast<size_t>(sizes[3]) + 2,
                "conv of rank {} with {} sizes", sizes.size() > 3 ? sizes[3] : 0, sizes.size());
    size_t rank = static_cast<size_t>(sizes[3]);
    int64_t channels = sizes[0], groups = sizes[1], outputs = sizes[2],
            in_group = channels / groups;
    auto list = [&](size_t which) {
      auto begin = sizes.begin() + static_cast<ptrdiff_t>(4 + which * rank);
      return std::vector<int64_t>(begin, begin + static_cast<ptrdiff_t>(rank));
    };
    std::vector<int64_t> input = list(0), kernel = list(1), stride = list(2), dilation = list(3),
                         low = list(4), high = list(5);
    const int64_t* lhs_strides = sizes.data() + 4 + 6 * rank;
    const int64_t* dst_strides = lhs_strides + 1 + rank;
    std::vector<int64_t> output(rank);
    int64_t points = 1;  // of the kernel
    for (size_t d = 0; d < rank; d++) {
      output[d] = (input[d] + low[d] + high[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
      points *= kernel[d];
    }
    int64_t dst = s.dst_index.evaluate(program_.cells), lhs = s.lhs_index.evaluate(program_.cells),
            rhs = s.rhs_index.evaluate(program_.cells);
    for (int64_t o = 0; o < outputs; o++) {
      int64_t first = o / (outputs / groups) * in_group;
      each_point(output, [&](const std::vector<int64_t>& at) {
        Cell acc = zero(s.dtype);
        for (int64_t c = 0; c < in_group; c++) {
          int64_t weight = rhs + (o * in_group + c) * points;
          each_point(kernel, [&](const std::vector<int64_t>& tap) {
            int64_t place = lhs + (first + c) * lhs_strides[0];
            bool inside = true;
            for (size_t d = 0; d < rank; d++) {
              int64_t x = at[d] * stride[d] + tap[d] * dilation[d] - low[d];
              inside = inside && x >= 0 && x < input[d];
              place += x * lhs_strides[1 + d];
            }
            Cell value = inside ? read_at(s.lhs, place) : zero(s.dtype);  // times a NaN: NaN
            acc = multiply_add(s.dtype, acc, value, read_at(s.rhs, weight));
            weight++;
          });
        }
        int64_t place = dst + o * dst_strides[0];
        for (size_t d = 0; d < rank; d++) place += at[d] * dst_strides[1 + d];
        write_at(s.dst, place, acc);
      });
    }
  }

  const Kernel& kernel_;
  Program program_;
  std::vector<BufferRef> memory_;  // params, then scratch
  std::vector<std::vector<char>> scratch_;
  std::map<int, int64_t> raised_;  // the number that each report names
  size_t lane_ = 0;                // the iteration of the vector loop
};

}  // namespace

std::vector<std::string> interpret(const Kernel& kernel, const std::vector<BufferRef>& buffers,
                                   const Bindings& sizes) {
  return Interpreter(kernel, buffers, sizes).run();
}

}  // namespace ingot::loop
