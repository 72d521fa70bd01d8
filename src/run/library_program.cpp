#include "run/library_program.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include <oneapi/dnnl/dnnl.hpp>

#include "base/error.h"
#include "base/text.h"
#include "run/openmp_threads.h"

// Version 3 makes primitives in another way.
#if DNNL_VERSION_MAJOR == 2

namespace ingot {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using Dims = memory::dims;

// Why a program has no library form.
struct NoForm {
  std::string why;
};

struct Function {
  algorithm kind;
  float alpha = 0, beta = 0;
};

std::optional<Function> function_of(Op op) {
  switch (op) {
    case Op::relu:
      return Function{algorithm::eltwise_relu};
    case Op::gelu:
      return Function{algorithm::eltwise_gelu_erf};
    case Op::gelu_tanh:
      return Function{algorithm::eltwise_gelu_tanh};
    case Op::tanh:
      return Function{algorithm::eltwise_tanh};
    case Op::sigmoid:
      return Function{algorithm::eltwise_logistic};
    case Op::silu:
      return Function{algorithm::eltwise_swish, 1};
    case Op::exp:
      return Function{algorithm::eltwise_exp};
    case Op::neg:
      return Function{algorithm::eltwise_linear, -1};
    default:
      return std::nullopt;
  }
}

std::optional<algorithm> binary_of(Op op) {
  switch (op) {
    case Op::add:
      return algorithm::binary_add;
    case Op::sub:
      return algorithm::binary_sub;
    case Op::mul:
      return algorithm::binary_mul;
    case Op::div:
      return algorithm::binary_div;
    default:
      return std::nullopt;
  }
}

memory::data_type type_of(const Node& node) {
  if (node.type.dtype == DType::f32) return memory::data_type::f32;
  if (node.type.dtype == DType::bf16) return memory::data_type::bf16;
  throw NoForm{fmt::format("no library kernel is used for {}", dtype_name(node.type.dtype))};
}

// Row-major, with sizes of 1 in front up to `rank`; the last two turned over.
memory::desc described(memory::data_type type, const std::vector<int64_t>& shape, size_t rank,
                       bool turned = false) {
  Dims dims(std::max<size_t>(rank, 1) - shape.size(), 1);
  dims.insert(dims.end(), shape.begin(), shape.end());
  if (shape.empty() && rank == 0) dims = {1};
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  if (turned) {
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    std::swap(strides[dims.size() - 1], strides[dims.size() - 2]);
  }
  return memory::desc(dims, type, strides);
}

// A primitive and the values that it takes.
struct Step {
  struct Argument {
    int place;  // DNNL_ARG_…
    NodeId value;
    memory::desc desc;
  };
  dnnl::primitive primitive;
  std::vector<Argument> arguments;
  std::string words;
};

struct Built {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  int threads = 1;
  std::vector<std::vector<int64_t>> shapes;  // of each node
  std::vector<Step> steps;
  std::vector<std::unordered_map<int, memory>> bound;  // like `steps`
  std::vector<NodeId> inputs, outputs;
  std::vector<DType> output_dtypes;
  std::vector<Tensor> values;  // intermediates and constants, by node
  int64_t bytes = 0;
};

class Builder {
 public:
  Builder(const Graph& graph, Built& built)
      : graph_(graph), built_(built), consumers_(consumers(graph)), done_(graph.nodes.size()) {}

  void build() {
    const std::vector<bool> live = live_nodes(graph_);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Op op = graph_.nodes[i].op;
      if (op == Op::constant) built_.values[i] = *graph_.nodes[i].data;
      if (op != Op::input && op != Op::constant && live[i] && !done_[i]) {
        add(static_cast<NodeId>(i));
      }
    }
    for (const Step& step : built_.steps) allocate(step);
  }

 private:
  void add(NodeId id) {
    const Node& node = graph_[id];
    if (std::ranges::count(shape(id), 0) > 0) throw NoForm{"there is nothing to compute"};
    if (node.op == Op::matmul) return add_product(id);
    if (node.op == Op::softmax || node.op == Op::log_softmax) return add_softmax(id);
    if (node.op == Op::layer_norm) return add_layer_norm(id);
    if (binary_of(node.op)) return add_binary(id);
    if (function_of(node.op)) return add_function(id);
    throw NoForm{fmt::format("no library kernel for this program: {} has none", op_name(node.op))};
  }

  void add_product(NodeId id) {
    const Node& node = graph_[id];
    const OpInfo& info = op_info(node.op);
    const NodeId a = node.operands[0], b = node.operands[1];
    if (shape(a).size() < 2 || shape(b).size() < 2) {
      throw NoForm{"no library kernel is used for products of vectors"};
    }
    const size_t rank = shape(id).size();
    const memory::desc left =
        described(type_of(graph_[a]), shape(a), rank, flag_attr(info, node.attrs, "transpose_a"));
    const memory::desc right =
        described(type_of(graph_[b]), shape(b), rank, flag_attr(info, node.attrs, "transpose_b"));
    std::string words = "matmul";
    NodeId last = id;
    const NodeId bias = bias_behind(last, words);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(functions_behind(last, words));
    const memory::desc result = plain(last);
    std::vector<Step::Argument> arguments = {
        {DNNL_ARG_SRC, a, left}, {DNNL_ARG_WEIGHTS, b, right}, {DNNL_ARG_DST, last, result}};
    std::optional<dnnl::matmul::desc> product;
    if (bias < 0) {
      product.emplace(left, right, result);
    } else {
      const memory::desc row = described(type_of(graph_[bias]), shape(bias), rank);
      product.emplace(left, right, row, result);
      arguments.push_back({DNNL_ARG_BIAS, bias, row});
    }
    put(dnnl::matmul({*product, attributes, built_.engine}), std::move(arguments), words);
  }

  // A value of one row that is added to the product alone; -1: none.
  NodeId bias_behind(NodeId& id, std::string& words) {
    const std::optional<NodeId> next = only_consumer(id);
    if (!next || graph_[*next].op != Op::add || shape(*next) != shape(id)) return -1;
    const std::vector<NodeId>& operands = graph_[*next].operands;
    const NodeId other = operands[0] == id ? operands[1] : operands[0];
    const std::vector<int64_t>& row = shape(other);
    const bool is_row =
        other < id && !row.empty() && row.back() == shape(id).back() &&
        std::ranges::all_of(row.begin(), row.end() - 1, [](int64_t size) { return size == 1; });
    if (!is_row) return -1;
    id = take(*next);
    words += " + bias";
    return other;
  }

  void add_binary(NodeId id) {
    const Node& node = graph_[id];
    NodeId a = node.operands[0], b = node.operands[1];
    const bool turned = shape(a) != shape(id);
    if (turned && (node.op == Op::sub || node.op == Op::div)) {
      throw NoForm{
          fmt::format("the library's {} repeats its second operand only", op_name(node.op))};
    }
    if (turned) std::swap(a, b);
    if (shape(a) != shape(id)) {
      throw NoForm{fmt::format("the library's {} repeats one operand only", op_name(node.op))};
    }
    std::string words(op_name(node.op));
    NodeId last = id;
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(functions_behind(last, words));
    const size_t rank = std::max<size_t>(shape(id).size(), 1);
    const memory::desc left = plain(a, rank), right = plain(b, rank), result = plain(last, rank);
    const dnnl::binary::desc binary(*binary_of(node.op), left, right, result);
    put(dnnl::binary({binary, attributes, built_.engine}),
        {{DNNL_ARG_SRC_0, a, left}, {DNNL_ARG_SRC_1, b, right}, {DNNL_ARG_DST, last, result}},
        words);
  }

  void add_softmax(NodeId id) {
    const Node& node = graph_[id];
    const auto rank = static_cast<int64_t>(shape(id).size());
    const int64_t dim = integer_attr(op_info(node.op), node.attrs, "dim");
    const memory::desc desc = plain(id);
    const algorithm kind =
        node.op == Op::softmax ? algorithm::softmax_accurate : algorithm::softmax_log;
    const dnnl::softmax_v2_forward::desc softmax(dnnl::prop_kind::forward_inference, kind, desc,
                                                 desc,
                                                 static_cast<int>(dim < 0 ? dim + rank : dim));
    put(dnnl::softmax_v2_forward({softmax, built_.engine}),
        {{DNNL_ARG_SRC, node.operands[0], desc}, {DNNL_ARG_DST, id, desc}},
        std::string(op_name(node.op)));
  }

  void add_layer_norm(NodeId id) {
    using dnnl::normalization_flags;
    const Node& node = graph_[id];
    const OpInfo& info = op_info(node.op);
    const auto rank = static_cast<int>(shape(id).size());
    if (dims_attr(info, node.attrs, "dims", rank) != std::vector<int>{rank - 1}) {
      throw NoForm{"the library's layer_norm is over the last dimension only"};
    }
    const memory::desc desc = plain(id);
    std::vector<Step::Argument> arguments = {{DNNL_ARG_SRC, node.operands[0], desc},
                                             {DNNL_ARG_DST, id, desc}};
    normalization_flags flags = normalization_flags::none;
    const std::pair<int, normalization_flags> parts[] = {
        {DNNL_ARG_SCALE, normalization_flags::use_scale},
        {DNNL_ARG_SHIFT, normalization_flags::use_shift}};
    for (size_t i = 1; i < node.operands.size(); ++i) {
      const NodeId part = node.operands[i];
      if (graph_[part].type.dtype != DType::f32 || shape(part) != std::vector{shape(id).back()}) {
        throw NoForm{"the library's layer_norm takes gamma and beta in f32, a row each"};
      }
      flags = flags | parts[i - 1].second;
      arguments.push_back({parts[i - 1].first, part, plain(part)});
    }
    const auto epsilon = static_cast<float>(real_attr(info, node.attrs, "epsilon"));
    const dnnl::layer_normalization_forward::desc norm(dnnl::prop_kind::forward_inference, desc,
                                                       epsilon, flags);
    put(dnnl::layer_normalization_forward({norm, built_.engine}), std::move(arguments),
        std::string(op_name(node.op)));
  }

  void add_function(NodeId id) {
    const Node& node = graph_[id];
    const Function function = *function_of(node.op);
    const memory::desc desc = plain(id);
    const dnnl::eltwise_forward::desc eltwise(dnnl::prop_kind::forward_inference, function.kind,
                                              desc, function.alpha, function.beta);
    put(dnnl::eltwise_forward({eltwise, built_.engine}),
        {{DNNL_ARG_SRC, node.operands[0], desc}, {DNNL_ARG_DST, id, desc}},
        std::string(op_name(node.op)));
  }

  // Functions that the same primitive computes; `id` becomes the last of them.
  dnnl::post_ops functions_behind(NodeId& id, std::string& words) {
    dnnl::post_ops functions;
    for (std::optional<NodeId> next = only_consumer(id); next; next = only_consumer(id)) {
      const std::optional<Function> function = function_of(graph_[*next].op);
      if (!function) break;
      functions.append_eltwise(1, function->kind, function->alpha, function->beta);
      id = take(*next);
      words += fmt::format(" + {}", op_name(graph_[id].op));
    }
    return functions;
  }

  NodeId take(NodeId id) {
    done_[static_cast<size_t>(id)] = true;
    return id;
  }

  // Who alone reads the value, where it is no output.
  std::optional<NodeId> only_consumer(NodeId id) const {
    if (std::ranges::count(graph_.outputs, id) > 0) return std::nullopt;
    const std::vector<NodeId>& readers = consumers_[static_cast<size_t>(id)];
    const bool one =
        !readers.empty() && std::ranges::count(readers, readers[0]) == std::ssize(readers);
    const bool once = one && std::ranges::count(graph_[readers[0]].operands, id) == 1;
    return once ? std::optional(readers[0]) : std::nullopt;
  }

  const std::vector<int64_t>& shape(NodeId id) const {
    return built_.shapes[static_cast<size_t>(id)];
  }
  memory::desc plain(NodeId id, size_t rank = 0) const {
    return described(type_of(graph_[id]), shape(id), std::max(rank, shape(id).size()));
  }

  void put(const dnnl::primitive& primitive, std::vector<Step::Argument> arguments,
           std::string words) {
    for (const Step::Argument& argument : arguments) {
      built_.bytes += static_cast<int64_t>(argument.desc.get_size());
    }
    built_.steps.push_back({primitive, std::move(arguments), std::move(words)});
  }

  // Memory of what the step leaves for others, and the step's arguments without addresses.
  void allocate(const Step& step) {
    std::unordered_map<int, memory>& bound = built_.bound.emplace_back();
    for (const Step::Argument& argument : step.arguments) {
      bound.emplace(argument.place, memory(argument.desc, built_.engine, nullptr));
      const auto at = static_cast<size_t>(argument.value);
      const Op op = graph_.nodes[at].op;
      const bool is_output = std::ranges::count(graph_.outputs, argument.value) > 0;
      if (op == Op::input || op == Op::constant || is_output || built_.values[at].size() > 0) {
        continue;
      }
      built_.values[at] = Tensor::uninitialized(graph_.nodes[at].type.dtype, built_.shapes[at]);
    }
  }

  const Graph& graph_;
  Built& built_;
  std::vector<std::vector<NodeId>> consumers_;
  std::vector<bool> done_;
};

// Outputs that nothing computes, or two names of one value, need a copy that no kernel makes.
void require_plain_outputs(const Graph& graph) {
  for (const NodeId id : graph.outputs) {
    const Op op = graph[id].op;
    if (op == Op::input || op == Op::constant || std::ranges::count(graph.outputs, id) > 1) {
      throw NoForm{"no library kernel copies a value to an output"};
    }
  }
}

}  // namespace

struct LibraryProgram::State : Built {};

LibraryProgram::LibraryProgram(std::unique_ptr<State> state) : state_(std::move(state)) {}
LibraryProgram::~LibraryProgram() = default;

std::unique_ptr<LibraryProgram> LibraryProgram::make(
    const Graph& source, const std::vector<std::vector<int64_t>>& input_shapes, int threads,
    std::string* why) {
  auto state = std::make_unique<State>();
  const Bindings sizes = bind_sizes(source, input_shapes);
  for (const Node& node : source.nodes) {
    state->shapes.push_back(evaluate(node.type.shape, sizes));
  }
  state->values.resize(source.nodes.size());
  state->inputs = source.inputs;
  state->outputs = source.outputs;
  state->threads = threads;
  for (const NodeId id : source.outputs) state->output_dtypes.push_back(source[id].type.dtype);
  const OpenMpThreads own(threads);  // a primitive is made for a number of threads
  try {
    require_plain_outputs(source);
    Builder(source, *state).build();
    if (state->steps.empty()) throw NoForm{"there is nothing to compute"};
    return std::unique_ptr<LibraryProgram>(new LibraryProgram(std::move(state)));
  } catch (const NoForm& none) {
    *why = none.why;
  } catch (const dnnl::error& error) {
    *why = fmt::format("the library refuses: {}", error.what());
  }
  return nullptr;
}

void LibraryProgram::run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  State& state = *state_;
  std::vector<void*> address(state.values.size());
  for (size_t i = 0; i < address.size(); ++i) address[i] = state.values[i].data();
  for (size_t i = 0; i < inputs.size(); ++i) {  // the library only reads them
    address[static_cast<size_t>(state.inputs[i])] = const_cast<std::byte*>(inputs[i].data());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    address[static_cast<size_t>(state.outputs[i])] = outputs[i].data();
  }
  const OpenMpThreads own(state.threads);
  for (size_t s = 0; s < state.steps.size(); ++s) {
    const Step& step = state.steps[s];
    for (const Step::Argument& argument : step.arguments) {
      state.bound[s]
          .at(argument.place)
          .set_data_handle(address[static_cast<size_t>(argument.value)]);
    }
    step.primitive.execute(state.stream, state.bound[s]);
  }
  state.stream.wait();
}

std::vector<Tensor> LibraryProgram::new_outputs() const {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < state_->outputs.size(); ++i) {
    const auto at = static_cast<size_t>(state_->outputs[i]);
    outputs.push_back(Tensor::uninitialized(state_->output_dtypes[i], state_->shapes[at]));
  }
  return outputs;
}

size_t LibraryProgram::primitives() const { return state_->steps.size(); }
int64_t LibraryProgram::bytes() const { return state_->bytes; }
std::string LibraryProgram::text() const {
  std::vector<std::string> words;
  for (const Step& step : state_->steps) words.push_back(step.words);
  return join(words, ", ");
}

}  // namespace ingot

#else

namespace ingot {

struct LibraryProgram::State {};
LibraryProgram::LibraryProgram(std::unique_ptr<State> state) : state_(std::move(state)) {}
LibraryProgram::~LibraryProgram() = default;
std::unique_ptr<LibraryProgram> LibraryProgram::make(const Graph&,
                                                     const std::vector<std::vector<int64_t>>&, int,
                                                     std::string* why) {
  *why = "this ingot was built with another oneDNN than version 2";
  return nullptr;
}
void LibraryProgram::run(const std::vector<Tensor>&, std::vector<Tensor>&) {}
std::vector<Tensor> LibraryProgram::new_outputs() const { return {}; }
size_t LibraryProgram::primitives() const { return 0; }
int64_t LibraryProgram::bytes() const { return 0; }
std::string LibraryProgram::text() const { return ""; }

}  // namespace ingot

#endif
