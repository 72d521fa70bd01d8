// The op table as data: every fact about an op that any stage may ask. Rows stand in ops.def.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/sym.h"

namespace ingot {

// One enumerator per row of ops.def; C++ keywords end in an underscore: and_, or_, xor_, not_.
enum class Op : uint16_t {
#define ELEMENTWISE(name, ...) name,
#define REDUCTION(name, ...) name,
#define STRUCTURED(name, ...) name,
#include "op/ops.def"
};

enum class Category : uint8_t {
  elementwise,  // one formula per element
  reduction,    // sum max min prod any all: a combine op and an identity
  movement,     // an index map: reshape transpose broadcast slice concat pad window gather
  contraction,  // matmul conv: a routine on tiles
  creation,     // input constant iota size
  composite,    // defined by its decomposition into the others
  scan,         // cumsum: each element from the one before it along a dimension
  scatter,      // updates at run-time places, in order
};

using AttrValue = std::variant<bool, int64_t, double, std::string, DType, std::vector<Sym>>;
using Attrs = std::map<std::string, AttrValue, std::less<>>;

enum class AttrType : uint8_t { boolean, integer, real, text, dtype, sizes };
struct AttrInfo {
  std::string_view name;
  AttrType type;
  std::string_view default_text;  // "" = required
};

// How the result's dtype follows from the operands'.
enum class DTypeRule : uint8_t { same, boolean, attribute, second, index };  // index: i64

// Which formula computes an elementwise op in f32: its own, or another one, as ops.def says.
enum class Form : uint8_t {  // clang-format off
  full, fast, bf16, f16, wide, inner, nearest, same, below, narrow, narrower, added
};  // clang-format on
inline constexpr int form_count = static_cast<int>(Form::added) + 1;

// Sets of dtypes an op takes.
enum class DTypeSet : uint8_t { any, number, floating, integer, boolean, integer_or_boolean, u64 };

struct OpFlag {
  enum Bits : unsigned {
    commutative = 1,
    associative = 2,
    idempotent = 4,
    view = 8,      // 0 bytes, 0 kernels: reshape transpose slice broadcast split
    ids = 16,      // operand 1 holds positions in operand 0: integers of any kind
    corners = 32,  // of a box of operands, corners give the extreme results (graph/value_range.h)
  };
};

struct GpuInstructions {  // of a thread, for an element
  double all = 0;         // 0: not counted
  double special = 0;     // of them those of the special-function unit
};

struct OpInfo {
  Op op;
  std::string_view name;
  Category category;
  int min_operands, max_operands;  // max -1: any number
  DTypeSet operands;
  DTypeRule rule;
  unsigned flags;
  double flops;         // counted FLOPs per element (interface.md: add = 1)
  double instructions;  // estimated vector instructions per element vector on the CPU
  std::vector<AttrInfo> attrs;
  // Elementwise: expressions in a, b, c (operands) and p, q, r (real attributes in row order), in
  // the dialect of src/device; "" = no such dtype class. Reductions: the combine formula in a, b.
  std::string_view float_formula, integer_formula, boolean_formula;
  std::string_view shorter[form_count];  // by Form: in place of float_formula; "" = there is none
  std::string_view cuda[form_count];     // by Form: on a GPU, in place of the shorter one
  double reach[form_count];              // narrow ones: magnitudes of operands that they are for
  double identity;                       // reductions; ±inf means the dtype's extreme for integers
  std::string_view onnx;                 // "Add", or "" ; several separated by spaces
  std::string_view doc;                  // one sentence
  GpuInstructions gpu[2][2] = {};        // f32 or halves; in exact or in wide and fast
};

const OpInfo& op_info(Op op);
bool has_form(const OpInfo& info, Form form);  // on some device
std::optional<Op> gelu_form(std::string_view approximate);
std::string gelu_form_error(std::string_view approximate);  // where there is none
std::span<const OpInfo> all_ops();
std::string_view op_name(Op op);
const OpInfo* find_op(std::string_view name);        // text form name; nullptr if unknown
std::string_view form_name(Form form);               // "full", "fast", …
std::string nearest_op_name(std::string_view name);  // for "did you mean"
bool accepts(DTypeSet set, DType dtype);

// Attribute access; the row's default where absent. Internal error on a wrong type.
bool flag_attr(const OpInfo& info, const Attrs& attrs, std::string_view name);
int64_t integer_attr(const OpInfo& info, const Attrs& attrs, std::string_view name);
double real_attr(const OpInfo& info, const Attrs& attrs, std::string_view name);
std::string text_attr(const OpInfo& info, const Attrs& attrs, std::string_view name);
DType dtype_attr(const OpInfo& info, const Attrs& attrs, std::string_view name);
std::vector<Sym> sizes_attr(const OpInfo& info, const Attrs& attrs, std::string_view name);
// `dims`-like attributes: constant, negative ones counted from `rank`, sorted, checked.
std::vector<int> dims_attr(const OpInfo& info, const Attrs& attrs, std::string_view name, int rank);

}  // namespace ingot
