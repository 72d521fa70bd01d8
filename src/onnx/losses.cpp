// Losses: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include "onnx/importer.h"

namespace ingot::onnx_model {
namespace {

// Of log probabilities [N, C, D...] and classes [N, D...]: -log p of the class times the class's
// weight; ignored elements are 0 and weigh nothing.
void negative_log_likelihood(NodeContext& n, NodeId log_p) {
  const DType dtype = n.dtype(log_p);
  NodeId classes = n.input(1);
  if (n.rank(log_p) < 2) n.invalid("needs 2 dimensions");
  NodeId ignored = -1;
  if (n.has_attr("ignore_index")) {
    const auto index = static_cast<double>(n.int_attr("ignore_index", 0));
    ignored = n.add("ignored", Op::eq, {classes, n.literal(n.dtype(classes), index)});
    classes = n.add("classes", Op::select, {ignored, n.literal(n.dtype(classes), 0), classes});
  }
  const Shape own = n.shape(classes);
  Shape column = own;
  if (column.empty()) n.invalid("targets without dimensions");
  column.insert(column.begin() + 1, Sym(1));
  NodeId picked = n.add("picked", Op::gather_elements,
                        {log_p, n.reshape("column", classes, column)}, {{"dim", int64_t{1}}});
  NodeId loss = n.add("negative", Op::neg, {n.reshape("likelihood", picked, own)});
  NodeId weight = -1;
  if (n.has_input(2)) {
    weight = n.add("weight", Op::gather, {n.input(2), classes}, {{"dim", int64_t{0}}});
    loss = n.add("weighted", Op::mul, {loss, weight});
  }
  const NodeId zero = n.literal(dtype, 0);
  if (ignored >= 0) {
    loss = n.add("kept", Op::select, {ignored, zero, loss});
    weight =
        n.add("counted", Op::select, {ignored, zero, weight < 0 ? n.literal(dtype, 1) : weight});
  }
  const std::string reduction = n.text_attr("reduction", "mean");
  if (reduction == "none") return n.set(0, loss);
  if (reduction != "sum" && reduction != "mean") {
    n.invalid(fmt::format("reduction is '{}', not none, sum or mean", reduction));
  }
  if (reduction == "sum") {
    n.result(Op::sum, {loss});
  } else if (weight < 0) {
    n.result(Op::mean, {loss});
  } else {
    NodeId total = n.add("total", Op::sum, {loss}), weights = n.add("weights", Op::sum, {weight});
    n.result(Op::div, {total, weights});
  }
}

void negative_log_likelihood_loss(NodeContext& n) { negative_log_likelihood(n, n.input(0)); }

void softmax_cross_entropy_loss(NodeContext& n) {
  const std::vector<NodeId> scores{n.input(0)};
  const Attrs attrs{{"dim", int64_t{1}}};
  NodeId log_p = n.wants_output(1) ? n.result(Op::log_softmax, scores, attrs, 1)
                                   : n.add("log_p", Op::log_softmax, scores, attrs);
  negative_log_likelihood(n, log_p);
}

}  // namespace

HandlerTable loss_handlers() {
  return {{"NegativeLogLikelihoodLoss", negative_log_likelihood_loss},
          {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss}};
}

}  // namespace ingot::onnx_model
