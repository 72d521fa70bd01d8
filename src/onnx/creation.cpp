// Ops that make tensors: constants, filled shapes, ranges, one-hot rows.
#include <bit>
#include <cmath>

#include "onnx/importer.h"

namespace ingot::onnx_model {
namespace {

Tensor filled(DType dtype, const std::vector<double>& values, bool is_scalar) {
  std::vector<int64_t> shape;
  if (!is_scalar) shape.push_back(static_cast<int64_t>(values.size()));
  Tensor out(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) out.set_f64(static_cast<int64_t>(i), values[i]);
  return out;
}

Known list_of(const std::vector<int64_t>& values, bool is_scalar) {
  std::vector<int64_t> shape;
  if (!is_scalar) shape.push_back(static_cast<int64_t>(values.size()));
  return {DType::i64, shape, {values.begin(), values.end()}};
}

void constant(NodeContext& n) {
  if (const Attribute* value = n.attr("value")) {
    const auto* tensor = std::get_if<FileTensor>(value);
    if (!tensor) n.invalid("attribute value is no tensor");
    if (!tensor->data) n.unsupported(fmt::format("of type {}", tensor->type_name));
    if (auto known = known_of(*tensor->data)) return n.set(0, std::move(*known));
    return n.set(0, n.named_constant(*tensor->data));
  }
  if (n.has_attr("value_int")) return n.set(0, list_of({n.int_attr("value_int", 0)}, true));
  if (auto values = n.ints_attr("value_ints")) return n.set(0, list_of(*values, false));
  if (n.has_attr("value_float")) {
    return n.set(0, n.named_constant(filled(DType::f32, {n.float_attr("value_float", 0)}, true)));
  }
  if (const Attribute* value = n.attr("value_floats")) {
    if (const auto* floats = std::get_if<std::vector<double>>(value)) {
      return n.set(0, n.named_constant(filled(DType::f32, *floats, false)));
    }
  }
  n.unsupported("neither a tensor nor numbers");
}

void constant_of_shape(NodeContext& n) {
  std::vector<Sym> shape = n.sizes_input(0, "a shape");
  for (const Sym& size : shape) {
    if (size.constant() && *size.constant() < 0) n.invalid("a negative size");
  }
  NodeId value = -1;
  if (const Attribute* attribute = n.attr("value")) {
    const auto* tensor = std::get_if<FileTensor>(attribute);
    if (!tensor) n.invalid("attribute value is no tensor");
    if (!tensor->data) n.unsupported(fmt::format("of type {}", tensor->type_name));
    if (tensor->data->size() != 1) n.invalid("attribute value needs one element");
    Tensor scalar(tensor->data->dtype(), {});
    is_float(scalar.dtype()) ? scalar.set_f64(0, tensor->data->get_f64(0))
                             : scalar.set_i64(0, tensor->data->get_i64(0));
    value = n.constant(std::move(scalar), "value");
  } else {
    value = n.literal(DType::f32, 0);
  }
  n.result(Op::broadcast, {value}, {{"shape", shape}});
}

// start + i · delta. Integer ranges of known numbers are folded before.
void range(NodeContext& n) {
  NodeId start = n.input(0), delta = n.input(2);
  DType dtype = n.dtype(start);
  std::optional<Sym> count;
  auto from = n.number_input(0), to = n.number_input(1), step = n.number_input(2);
  if (from && to && step) {
    if (*step == 0) n.invalid("a delta of 0");
    double size = std::ceil((*to - *from) / *step);
    if (!(size < 0x1p53)) n.invalid("its size is no number");
    count = size > 0 ? static_cast<int64_t>(size) : 0;
  } else if (!is_float(dtype) && step == 1.0) {
    std::vector<Sym> first = n.sizes_input(0, "start"), limit = n.sizes_input(1, "a limit");
    if (first.size() != 1 || limit.size() != 1) n.invalid("start and limit are one number each");
    Sym distance = limit[0] - first[0];
    if (provably_nonnegative(distance, {})) count = distance;
  }
  if (!count) n.unsupported("a size computed at run time");
  NodeId steps =
      n.add("steps", Op::iota, {},
            {{"shape", std::vector<Sym>{*count}}, {"dim", int64_t{0}}, {"dtype", dtype}});
  NodeId offsets = n.add("offsets", Op::mul, {steps, delta});
  n.result(Op::add, {start, offsets});
}

// eq(ids, 0 1 2 …) picks between the two values. Negative ids count from the end.
void one_hot(NodeContext& n) {
  NodeId ids = n.input(0), values = n.input(2);
  std::vector<Sym> depth;
  if (std::optional<double> number = n.number_input(1)) {  // may be a float
    if (!(*number >= 0 && *number < 0x1p53)) n.invalid("depth is no size");
    depth.emplace_back(static_cast<int64_t>(*number));
  } else {
    depth = n.sizes_input(1, "depth");
  }
  if (depth.size() != 1) n.invalid("depth is one number");
  if (!is_integer(n.dtype(ids))) ids = n.cast("whole", ids, DType::i64);
  DType dtype = byte_size(n.dtype(ids)) < 4 ? DType::i32 : DType::i64;
  ids = n.cast("wide", ids, dtype);
  int rank = n.rank(ids) + 1;
  int axis = n.axis(n.int_attr("axis", -1), rank);
  Shape shape = n.shape(ids), counting(static_cast<size_t>(rank), Sym(1));
  shape.insert(shape.begin() + axis, Sym(1));
  counting[static_cast<size_t>(axis)] = depth[0];
  NodeId column = n.reshape("column", ids, shape);
  NodeId places = n.add("places", Op::iota, {},
                        {{"shape", counting}, {"dim", int64_t{axis}}, {"dtype", dtype}});
  NodeId count = n.size_value("depth", depth[0], dtype);
  NodeId is_negative = n.add("negative", Op::lt, {column, n.literal(dtype, 0)});
  NodeId wrapped = n.add("wrapped", Op::add, {column, count});
  NodeId place = n.add("place", Op::select, {is_negative, wrapped, column});
  auto value = [&](int64_t i, std::string_view name) {
    NodeId part = n.add(fmt::format("{}_part", name), Op::slice, {values},
                        {{"starts", std::vector<Sym>{i}},
                         {"ends", std::vector<Sym>{i + 1}},
                         {"steps", std::vector<Sym>{1}}});
    return n.add(name, Op::reshape, {part}, {{"shape", Shape{}}});
  };
  if (n.shape(values) != Shape{2}) n.invalid("values needs two elements, off and on");
  NodeId is_here = n.add("here", Op::eq, {place, places});
  n.result(Op::select, {is_here, value(1, "on"), value(0, "off")});
}

// a - b cos(2 pi i / N) + c cos(4 pi i / N), N = size where it is periodic, else size - 1
void window(NodeContext& n, double a, double b, double c) {
  std::vector<int64_t> size = n.integers_input(0, "a size");
  if (size.size() != 1 || size[0] < 0 || size[0] > (int64_t{1} << 24)) n.invalid("no size");
  const int64_t type = n.int_attr("output_datatype", 1);
  std::optional<DType> dtype = dtype_of(type);
  if (!dtype) n.unsupported(fmt::format("of {}", type_name_of(type)));
  const auto period = static_cast<double>(size[0] - (n.int_attr("periodic", 1) != 0 ? 0 : 1));
  Tensor values(*dtype, size);
  for (int64_t i = 0; i < size[0]; ++i) {
    const double angle = 2 * std::acos(-1.0) * static_cast<double>(i) / period;
    values.set_f64(i, a - b * std::cos(angle) + c * std::cos(2 * angle));
  }
  n.set(0, n.named_constant(values));
}

void hann_window(NodeContext& n) { window(n, 0.5, 0.5, 0); }
void hamming_window(NodeContext& n) { window(n, 25.0 / 46, 21.0 / 46, 0); }
void blackman_window(NodeContext& n) { window(n, 0.42, 0.5, 0.08); }

// Elements on and above diagonal k (upper), or on and below it, are kept; the others are 0.
void trilu(NodeContext& n) {
  NodeId x = n.input(0);
  if (n.rank(x) < 2) n.invalid("needs 2 dimensions");
  bool upper = n.int_attr("upper", 1) != 0;
  int64_t k = 0;
  if (n.has_input(1)) {
    std::vector<int64_t> given = n.integers_input(1, "k");
    if (given.size() != 1) n.invalid("k is one number");
    k = given[0];
  }
  const Shape& shape = n.shape(x);
  Shape rows{shape[shape.size() - 2], 1}, columns{shape.back()};
  NodeId row =
      n.add("row", Op::iota, {}, {{"shape", rows}, {"dim", int64_t{0}}, {"dtype", DType::i64}});
  NodeId column = n.add("column", Op::iota, {},
                        {{"shape", columns}, {"dim", int64_t{0}}, {"dtype", DType::i64}});
  NodeId diagonal = n.add("diagonal", Op::add, {row, n.size_value("k", k, DType::i64)});
  NodeId is_kept = n.add("kept", upper ? Op::ge : Op::le, {column, diagonal});
  n.result(Op::select, {is_kept, x, n.literal(n.dtype(x), 0)});
}

// 1 on diagonal k, else 0.
void eye_like(NodeContext& n) {
  NodeId x = n.input(0);
  if (n.rank(x) != 2) n.invalid("needs 2 dimensions");
  int64_t k = n.int_attr("k", 0);
  DType dtype = n.dtype(x);
  if (int64_t given = n.int_attr("dtype", 0); given != 0) {
    std::optional<DType> wanted = dtype_of(given);
    if (!wanted) n.unsupported(fmt::format("of {}", type_name_of(given)));
    dtype = *wanted;
  }
  const Shape shape = n.shape(x);
  NodeId row = n.add("row", Op::iota, {},
                     {{"shape", Shape{shape[0], 1}}, {"dim", int64_t{0}}, {"dtype", DType::i64}});
  NodeId column =
      n.add("column", Op::iota, {},
            {{"shape", Shape{1, shape[1]}}, {"dim", int64_t{1}}, {"dtype", DType::i64}});
  NodeId diagonal = n.add("diagonal", Op::add, {row, n.size_value("k", k, DType::i64)});
  n.result(Op::cast, {n.add("here", Op::eq, {column, diagonal})}, {{"dtype", dtype}});
}

// The file's seed, a float by its bits; without one a hash of the output's name, so that two nodes
// differ and every run is the same.
int64_t random_seed(NodeContext& n) {
  if (const Attribute* seed = n.attr("seed")) {
    if (const auto* whole = std::get_if<int64_t>(seed)) return *whole;
    return std::bit_cast<int32_t>(static_cast<float>(n.float_attr("seed", 0)));
  }
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : n.output_name(0)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return static_cast<int64_t>(hash);
}

Attrs random_attrs(NodeContext& n, bool normal, std::vector<Sym> shape, DType dtype) {
  Attrs attrs{{"shape", std::move(shape)}, {"dtype", dtype}, {"seed", random_seed(n)}};
  attrs["distribution"] = std::string(normal ? "normal" : "uniform");
  if (normal) {
    attrs["mean"] = n.float_attr("mean", 0);
    attrs["scale"] = n.float_attr("scale", 1);
  } else {
    attrs["low"] = n.float_attr("low", 0);
    attrs["high"] = n.float_attr("high", 1);
  }
  return attrs;
}

DType random_dtype(NodeContext& n, DType fallback) {
  int64_t given = n.int_attr("dtype", 0);
  std::optional<DType> dtype = given == 0 ? fallback : dtype_of(given);
  if (!dtype || !accepts(DTypeSet::floating, *dtype)) {
    n.unsupported(fmt::format("of {}", given == 0 ? dtype_name(fallback) : type_name_of(given)));
  }
  return *dtype;
}

void random(NodeContext& n, bool normal) {
  auto given = n.ints_attr("shape");
  if (!given) n.invalid("attribute shape is missing");
  std::vector<Sym> shape(given->begin(), given->end());
  n.result(Op::random, {}, random_attrs(n, normal, shape, random_dtype(n, DType::f32)));
}

void random_like(NodeContext& n, bool normal) {
  NodeId x = n.input(0);
  n.result(Op::random, {}, random_attrs(n, normal, n.shape(x), random_dtype(n, n.dtype(x))));
}

void random_uniform(NodeContext& n) { random(n, false); }
void random_normal(NodeContext& n) { random(n, true); }
void random_uniform_like(NodeContext& n) { random_like(n, false); }
void random_normal_like(NodeContext& n) { random_like(n, true); }

// 1 with probability x.
void bernoulli(NodeContext& n) {
  NodeId x = n.input(0);
  DType dtype = n.dtype(x);
  if (int64_t given = n.int_attr("dtype", 0); given != 0) {
    std::optional<DType> wanted = dtype_of(given);
    if (!wanted) n.unsupported(fmt::format("of {}", type_name_of(given)));
    dtype = *wanted;
  }
  NodeId number = n.add("number", Op::random, {},
                        {{"shape", n.shape(x)}, {"dtype", n.dtype(x)}, {"seed", random_seed(n)}});
  n.result(Op::cast, {n.add("below", Op::lt, {number, x})}, {{"dtype", dtype}});
}

// Inference: the input itself, and a mask that is all true. Training: what the mask keeps, divided
// by 1 - ratio; the mask follows from the seed alone.
void dropout(NodeContext& n) {
  NodeId x = n.input(0);
  std::optional<double> training = n.has_input(2) ? n.number_input(2) : 0.0;
  if (!training) n.unsupported("a training_mode that is not constant");
  double ratio = n.float_attr("ratio", 0.5);
  int64_t seed = random_seed(n);
  if (*training != 0 && n.has_input(1)) {
    std::optional<double> given = n.number_input(1);
    if (!given) n.unsupported("a ratio that is not constant");
    ratio = *given;
  }
  if (*training == 0 || ratio == 0) {
    n.set(0, x);
    if (!n.wants_output(1)) return;
    n.result(Op::broadcast, {n.literal(DType::boolean, 1)}, {{"shape", n.shape(x)}}, 1);
    return;
  }
  if (!(ratio > 0 && ratio < 1)) n.invalid(fmt::format("ratio is {}, not in [0, 1)", ratio));
  NodeId number = n.add("number", Op::random, {},
                        {{"shape", n.shape(x)}, {"dtype", DType::f32}, {"seed", seed}});
  std::vector<NodeId> bounds{number, n.literal(DType::f32, ratio)};
  NodeId mask = n.wants_output(1) ? n.result(Op::ge, bounds, {}, 1) : n.add("mask", Op::ge, bounds);
  NodeId kept = n.add("kept", Op::mul, {n.cast("factor", mask, n.dtype(x)), x});
  n.result(Op::mul, {kept, n.literal(n.dtype(x), 1 / (1 - ratio))});
}

}  // namespace

HandlerTable creation_handlers() {
  return {{"Constant", constant},
          {"ConstantOfShape", constant_of_shape},
          {"Range", range},
          {"OneHot", one_hot},
          {"EyeLike", eye_like},
          {"RandomUniform", random_uniform},
          {"RandomNormal", random_normal},
          {"RandomUniformLike", random_uniform_like},
          {"RandomNormalLike", random_normal_like},
          {"Bernoulli", bernoulli},
          {"HannWindow", hann_window},
          {"HammingWindow", hamming_window},
          {"BlackmanWindow", blackman_window},
          {"Dropout", dropout},
          {"Trilu", trilu}};
}

}  // namespace ingot::onnx_model
