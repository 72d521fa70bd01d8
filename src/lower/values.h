// Demand-driven values: emits loads and arithmetic for a node at an index, each once per scope, in
// the outermost scope where everything it needs is known.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/index_map.h"
#include "loop/loop.h"
#include "lower/nest_parts.h"
#include "plan/plan.h"

namespace ingot::lowering {

class Values {
 public:
  Values(const Graph& graph, const Group& group, Numerics numerics, bool gpu);

  // The kernel under construction: params for the group's inputs and outputs are declared.
  loop::Kernel& kernel() { return kernel_; }
  bool is_output(NodeId node) const { return buffers_.count(node) > 0 && !is_buffer(node); }
  std::string buffer(NodeId node) const { return buffers_.at(node); }
  // An identifier from a user's name, not used in this kernel before.
  std::string unique(const std::string& wanted);
  std::string scratch(const std::string& wanted, DType dtype, Sym elements);
  std::string workspace(const std::string& wanted, DType dtype, Sym elements);

  // Domain variables stand for these expressions in loop variables from here on.
  void bind_var(const std::string& domain_var, Sym value);
  Sym substituted(const Sym& in_domain_vars) const;

  // Scopes nest like the loops; `var` is the loop's variable ("" for none) with its extent.
  void open(const std::string& var, const Sym& extent);
  // The scope of a vector loop that runs across rows, too.
  void open_across(const std::string& var, const Sym& extent, const std::string& row_var);
  std::vector<loop::Stmt> close();
  // The domain variable runs over a part of its extent from here on.
  void restrict_var(const std::string& domain_var, const Sym& extent) {
    domain_ranges_.insert_or_assign(domain_var, extent);
  }
  // Closes the scope and appends it to the enclosing one as a loop, unless it never runs.
  void close_loop(loop::LoopKind kind);
  // Variables of the phase, and of the innermost loop or one around it.
  const std::string& phase_variable() const { return scopes_.front().var; }
  const std::string& variable(size_t around = 0) const {
    return scopes_[scopes_.size() - 1 - around].var;
  }
  const std::string& row_variable() const { return scopes_.back().across; }
  std::vector<loop::Stmt>& statements() { return scopes_.back().body; }

  // The node's element at `index` (in domain variables).
  Typed value(NodeId node, const std::vector<Sym>& index);
  // `typed` in dtype `to`, rounded if it is not yet.
  loop::Operand rounded(const Typed& typed, DType to);

  // From here on the node, at its canonical index, is this value (a finished reduction) or an
  // element of a buffer (a product's tile, a staged row).
  void bind_value(NodeId node, const std::string& name, DType dtype);
  void bind_element(NodeId node, const std::string& buffer, DType dtype, Sym flat_index);
  void forget_element(NodeId node) { elements_.erase(node); }
  // A value of f32 class made of others.
  std::string computed(Op op, const std::vector<Typed>& operands, DType dtype,
                       const std::string& wanted, Form form = Form::full);
  loop::Operand bound(NodeId node) const { return values_.at(node).operand; }
  // All that is bound, exchanged for the values of another row: what was computed is forgotten.
  Bound exchange(Bound other);

  // Nodes are computed or loaded again from here on, in another phase.
  void unbind();

  // The dtype a node's value has inside the kernel: its own in exact, its compute dtype else.
  DType kept_dtype(NodeId node) const;
  // Which formula computes the node: a shorter one where the mode allows it and the row has it.
  Form form(NodeId node) const;
  // The same for terms of a sum of f32, which are no more exact than the sum.
  Form form_in_sum(Op op) const;
  std::map<NodeId, Demand>& demands() { return demands_; }
  // Flat subscripts of all loads and stores so far, in domain variables.
  std::vector<Sym>& subscripts() { return subscripts_; }
  // The first one without a guard of each buffer's loads.
  std::map<std::string, Sym>& reads() { return reads_; }
  void note_defined(const std::string& name);  // a value defined in the current scope
  Sym flat(NodeId node, const std::vector<Sym>& index);

 private:
  struct Context {  // guards that hold where the value is used; loads keep to them
    std::vector<loop::Guard> guards;
    int report = -1;
    Sym reported;  // the number it names
    std::string key;
  };
  struct Scope {
    std::vector<loop::Stmt> body;
    std::map<std::string, Typed> memo;
    std::string var;
    Sym extent;
    std::string across = {};
  };
  static bool never_runs(const Scope& scope);
  static bool may_not_run(const Scope& scope);
  Typed value(NodeId node, const std::vector<Sym>& index, const Context& context);
  Typed compute(NodeId node, const std::vector<Sym>& index, const Context& context);
  Typed elementwise(NodeId node, const std::vector<Sym>& index, const Context& context);
  std::optional<Typed> contracted(NodeId node, const std::vector<Sym>& index, const Context& with);
  bool is_product(NodeId node) const;
  Typed polynomial(NodeId node, const Narrowing& narrowing, const std::vector<Sym>& index,
                   const Context& context);
  Typed concat(NodeId node, const std::vector<Sym>& index, const Context& context);
  Typed pad(NodeId node, const std::vector<Sym>& index, const Context& context);
  Typed gather(NodeId node, const std::vector<Sym>& index, const Context& context);
  Typed index_value(DType dtype, const Sym& value, const std::string& name);
  Typed load(const std::string& buffer, DType dtype, const Sym& flat, const Context& context,
             loop::Literal otherwise, const std::string& name);
  void check_id(const std::vector<Guard>& within, const Context& context, int report);
  Typed choose(const std::vector<Guard>& guards, const Typed& inside, const Typed& outside,
               DType dtype, const std::string& name);
  Context within(const Context& context, const std::vector<Guard>& guards) const;
  bool is_buffer(NodeId node) const { return inputs_.count(node) > 0; }
  std::vector<Sym> resolved_index(NodeId node, const std::vector<Sym>& index) const;
  std::string name_of(NodeId node) const;
  bool only_added(NodeId node) const;
  bool knows(const Sym& expression) const;
  size_t depth(const std::set<std::string>& names, bool reports) const;
  Typed place(loop::Stmt statement, const std::string& name, DType dtype,
              const std::set<std::string>& needs);
  void add_names(const Sym& expression, std::set<std::string>* names) const;

  const Graph& graph_;
  const Group& group_;
  Numerics numerics_;
  bool gpu_;
  loop::Kernel kernel_;
  Ranges domain_ranges_, id_ranges_;  // also of ids inside their guards; of these alone
  std::set<NodeId> inputs_;
  std::map<NodeId, std::string> buffers_;
  std::map<NodeId, Typed> values_;
  std::map<NodeId, Element> elements_;
  std::map<std::string, Sym, std::less<>> environment_;
  std::map<std::string, size_t> defined_;  // name of a value or loop variable → scope depth
  std::set<std::string> names_;
  std::vector<Scope> scopes_;
  std::vector<Sym> subscripts_;
  std::map<std::string, Sym> reads_;
  std::map<NodeId, Demand> demands_;
};

}  // namespace ingot::lowering
