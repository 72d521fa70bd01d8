// The scheduled kernel: loops, loads, arithmetic in three-address form, lane accumulators, stores
// and tile products. Emission and the interpreter read nothing else.
//
// A kernel is a list of phases; all iterations of a phase are independent, and every phase sees
// what the earlier ones stored. Text form:
//
//   kernel bias_gelu(x: bf16[B*8192] in, b: bf16[8192] in, y: bf16[B*8192] out) sizes(B) {
//     phase p in parallel(B) grain 4 {
//       for j in vector(8192) {
//         x0: bf16 = load x[8192*p + j]
//         b0: bf16 = load b[j]
//         t: bf16 = add(x0, b0)
//         y0: bf16 = gelu(t)
//         store y[8192*p + j] = y0
//       }
//     }
//   }
//
// Meaning. A value of dtype bf16, f16 or u8 is computed in compute_dtype and rounded (wrapped) once
// when it is defined. A loop `vector(n)` has n independent iterations, run 64 at a time or in any
// other way: iteration j may only touch lane j % 64 of a 64-lane accumulator declared outside (j
// modulo the lanes of one that has more). `finish` combines the lanes by halves (32, 16, … 1); of
// 128 or 256, first each 4 or 8 neighbours (4, 2, 1), then what that gives (128, 64, … 8). Store in
// a vector loop: each iteration its own element. Scalars defined outside a vector loop are uniform
// inside it. The iterations of `spread(n)` may run at the same time, each on a warp of a GPU: they
// touch elements of their own, and share nothing but accumulators declared outside, of which each
// takes a lane that it names. A scratch element whose subscript does not use the loop's variable
// belongs to each iteration by itself. Not inside a vector or a spread loop. `for j in vector(n)
// across q(4)` has the iterations (q, j), run as 4 rows by 16 values of j at a time, so that what
// does not depend on q is loaded once for 4 rows: loads, arithmetic, stores, hints only, subscripts
// that count with j or do not depend on it, n a multiple of 16. Iterations may store one element
// twice where they store equal values: a block of rows that ends past the last row repeats that
// one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "loop/statements.h"

namespace ingot::loop {

enum class LoopKind : uint8_t { serial, vector, spread };
struct Loop;
using Stmt = std::variant<Let, Load, IndexValue, Accumulator, Accumulate, Finish, Store, Product,
                          Transpose, Fetch, Await, Prefetch, std::shared_ptr<Loop>>;
inline constexpr int64_t across_rows = 4, across_columns = 16;
struct Loop {
  std::string var;
  LoopKind kind;
  Sym extent;
  std::string across = {};  // vector loops: the row variable, or empty
  std::vector<Stmt> body;
};

struct Phase {
  std::string var;  // iterations [0, extent) are independent
  Sym extent;
  int64_t grain;  // iterations below which another thread is not worth it
  std::vector<Stmt> body;
  int64_t blocks = 1;  // of a GPU's threads, a cluster, that share the spread loops of an iteration
};

enum class Role : uint8_t { input, output, workspace };
struct Param {
  std::string name;
  DType dtype;
  Sym elements;
  Role role;
  int32_t value = -1;  // the node it stands for; opaque here
};

// A buffer of each thread's own, in bytes elements·size; contents undefined at the start of an
// iteration.
struct Scratch {
  std::string name;
  DType dtype;
  Sym elements;
};

struct Kernel {
  std::string name;     // an identifier
  std::string comment;  // what is fused and why: the header comment of the emitted text
  std::vector<Param> params;
  std::vector<std::string> sizes;  // names of sizes passed at run time
  std::vector<Scratch> scratch;
  // On a GPU: elements of a chunk of elementwise work (0: the most that a thread loads at once),
  // and whether its compiler may take all registers for them, or at most so many a thread (0: as
  // the emitter sees fit).
  int64_t thread_elements = 0;
  bool all_registers = false;
  int64_t most_registers = 0;
  std::vector<Phase> phases;
  std::vector<std::string>
      reports;  // texts of run-time errors: "gather ids: index {} out of range [0, 257)"
};

// What accumulators of the op start from; infinite identities are the extremes of an integer dtype.
Literal accumulator_identity(Op op, DType dtype);

std::string print(const Kernel& kernel);
Kernel parse_kernel(std::string_view text, const std::string& file);
std::vector<Kernel> parse_kernels(std::string_view text, const std::string& file);  // one or more
// Names defined before use and once per scope, dtypes of operands, indices linear or div/mod of
// what is in scope, lane rules, no store and load of one buffer at different indices in one phase.
// Error{internal}.
void verify(const Kernel& kernel, std::string_view where);

// Second oracle. Buffers in the order of params; sizes bound by name. Checks every index against
// the buffer's size. Products by naive loops in compute_dtype. Returns raised reports.
struct BufferRef {
  void* data;
  int64_t elements;
};
std::vector<std::string> interpret(const Kernel& kernel, const std::vector<BufferRef>& buffers,
                                   const Bindings& sizes);

}  // namespace ingot::loop
