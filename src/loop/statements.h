// The statements of the loop IR; loop.h has the loops, the kernel and the meaning.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/sym.h"
#include "op/op.h"

namespace ingot::loop {

struct Literal {
  double real = 0;
  int64_t integer = 0;  // used when the value's dtype is an integer or bool
};
using Operand = std::variant<std::string, Literal>;  // a value's name, or a literal

struct Guard {
  Sym value, lo, hi;  // lo ≤ value < hi
};

// name: dtype = op(operands) with real attributes p, q, r. Elementwise ops, cast and select only.
// In text a shorter form stands behind: gelu(t) form bf16.
struct Let {
  std::string name;
  DType dtype;
  Op op;
  std::vector<Operand> operands;
  std::vector<DType> operand_dtypes;  // dtypes of the operands (literals take the stated one)
  std::vector<double> attrs;
  Form form = Form::full;
};

// name: dtype = load buffer[index] if guards else otherwise. Syms may use loop variables, sizes and
// the names of integer values defined before (a gather). With `report` a failed guard raises the
// kernel's error flag (value: index of the report text) and the load gives `otherwise`.
struct Load {
  std::string name;
  DType dtype;
  std::string buffer;
  Sym index;
  std::vector<Guard> guards;
  Literal otherwise;
  int report = -1;  // index into Kernel::reports
  Sym reported{};   // the number that the report names
};

// name: dtype = index expression (iota), or name: bool = lo ≤ value < hi when `guards` is not
// empty. With `report` a false one raises the kernel's error flag.
struct IndexValue {
  std::string name;
  DType dtype;
  Sym value;
  std::vector<Guard> guards;
  int report = -1;  // index into Kernel::reports
  Sym reported{};   // the number that the report names
};

// acc name: dtype = op, of `lanes` 1 or 64, on a GPU also 128 or 256: starts from the identity of
// `op` (sum max min prod any all), or (1 lane; in text `sum(part)`) from a value, what an earlier
// one finished with. dtype is the compute dtype.
struct Accumulator {
  std::string name;
  DType dtype;
  Op op;
  int lanes;
  std::string from = {};
};

// acc name op= value: in a vector loop into the lane of the iteration, of several lanes outside one
// into name[lane], modulo their number.
struct Accumulate {
  std::string accumulator;
  Operand value;
  std::optional<Sym> lane = {};
};

// name: dtype = finish acc (lanes combined by halves; of a 1-lane accumulator its value), rounded
// to dtype.
struct Finish {
  std::string name;
  DType dtype;
  std::string accumulator;
};

enum class StoreMode : uint8_t { normal, streaming };  // streaming: past the caches, when aligned
struct Store {
  std::string buffer;
  Sym index;
  Operand value;
  StoreMode mode = StoreMode::normal;
};

// One call of a library routine on a tile: dst[dst_index…] = lhs × rhs. All buffers row-major with
// the given leading strides. `routine` "matmul": sizes m n k, lda ldb ldc, transpose_a transpose_b
// (0/1). "conv": the whole problem of one image: see run/product.h. `dtype` of operands; dst is
// compute_dtype.
struct Product {
  std::string routine;
  DType dtype;
  std::string dst, lhs, rhs;
  Sym dst_index, lhs_index, rhs_index;
  std::vector<std::pair<std::string, Sym>> sizes;
};

// A block of memory turned over, for loads that follow the lanes: element c of row r of the source
// becomes element r of row c. dst[dst_index + dst_stride·c + r] = src[src_index + src_stride·r +
// c].
struct Transpose {
  std::string dst, src;
  Sym dst_index, src_index;
  Sym dst_stride, src_stride;
  Sym rows, columns;  // of the source
};

// Elements of an input on their way into a scratch row, which nothing else stores to:
// dst[dst_index + i] = src[src_index + i] for i < count, a multiple of 16 bytes, as both places
// are. They may come at any time, and have come when an `await` leaves no more than began since.
struct Fetch {
  std::string dst, src;
  Sym dst_index, src_index, count;
};

// Waits for what this iteration (of the phase, and of a spread loop) fetches, but the last `left`.
// Iterations of spread loops with one number count as one: a warp runs them.
struct Await {
  int64_t left;
};

// The element will soon be read, in a vector loop as many as its iterations at a time take: a hint
// without meaning, which may be past the buffer's end. Into the first-level cache, or the second.
// With a share of s, several loops take a part of a row each: iteration j is for where j / s would
// be.
struct Prefetch {
  std::string buffer;
  Sym index;
  int level;  // of the cache, 1 or 2
  int64_t share = 1;
};

}  // namespace ingot::loop
