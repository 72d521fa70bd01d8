// The generator of random programs: each step adds one op, or a few that belong together.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "support/random.h"
#include "support/random_graphs.h"

namespace ingot::testing {

class Generator {
 public:
  Generator(uint64_t seed, const RandomOptions& options)
      : random_(seed), options_(options), builder_("random") {}

  Graph run();
  // One value after the other, of which now and then an older one is used again. Or ops side by
  // side on many inputs, whose results are joined here and there and all returned.
  Graph run_long();

 private:
  const TensorType& type(NodeId id) { return builder_[id].type; }
  const Shape& shape(NodeId id) { return type(id).shape; }
  size_t rank(NodeId id) { return shape(id).size(); }
  bool is_boolean(NodeId id) { return type(id).dtype == DType::boolean; }
  Sym size();
  // Of a value that is no input: a name must be an input's.
  Sym known_size();
  DType any_dtype();
  DType dtype();
  size_t any_dim(NodeId id);
  std::vector<Sym> some_dims(NodeId id);
  NodeId input(DType dtype, Shape shape, const char* stem = "x");
  void make_inputs();
  NodeId any();
  NodeId literal(DType dtype);
  // A value that goes with `id` in one op.
  NodeId like(NodeId id);
  void keep(NodeId id);
  NodeId add(Op op, std::vector<NodeId> operands, Attrs attrs = {});
  void step();

  // elementwise
  // Composites with shapes or attributes of their own.
  static bool has_own_step(const OpInfo& info);
  const OpInfo* row(Category category, DType dtype, int operands = 0);
  NodeId apply(const OpInfo& info, std::vector<NodeId> operands);
  NodeId unary(NodeId a);
  NodeId binary(NodeId a, NodeId b);
  void elementwise();
  void cast();
  void select();
  // Two values of one, joined again; one of them may be needed elsewhere too.
  void diamond();

  // reductions
  NodeId reduced(NodeId a, std::vector<Sym> dims, bool keepdims);
  NodeId with_dims();
  void reduction();
  // x and a reduction of it, joined again: what norms and softmax are made of.
  void around();
  void twice_reduced();
  void composite();

  // movement
  void movement();
  void transpose(NodeId a);
  void reshape(NodeId a);
  void broadcast(NodeId a);
  NodeId sliced(NodeId a);
  void slice(NodeId a);
  void pad(NodeId a);
  void concat();
  void gather();

  // positions, order, windows
  void argument();
  void scan();
  void scatter();
  void topk();
  // [N, C, D] or [N, C, D, E], a value there is or a new input.
  NodeId image();
  void pool();
  void by_channel();

  // any row of the table, with whatever attributes inference takes
  AttrValue any_attr(const AttrInfo& attr, NodeId a);
  void any_row();

  // creation and products
  void creation();
  // Numbers of which products and sums are exact in every order. One factor is never 0, nor the
  // other: a product -0 would tell the order.
  NodeId whole(NodeId a, bool is_left);
  void matmul();
  void conv();
  void attention();

  void choose_outputs();

  Random random_;
  RandomOptions options_;
  GraphBuilder builder_;
  std::vector<NodeId> pool_;
  std::set<std::string> names_;  // of sizes that inputs have
  int inputs_ = 0;
};

}  // namespace ingot::testing
