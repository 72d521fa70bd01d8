// What a caller gives a program, checked, and where the values of a program lie.
#pragma once

#include <cstdint>
#include <vector>

#include "run/sizing.h"
#include "run/strided_copy.h"

namespace ingot {

// Where a node's value lies during a run.
struct Home {
  enum class Kind : uint8_t { input, output, constant, arena } kind = Kind::arena;
  size_t slot = 0;  // of inputs or outputs
};
// Of every node. An output that is also an input or a constant lies there; of several outputs that
// are one node, in the first.
std::vector<Home> find_homes(const Graph& graph);

// Counts of tensors, dtypes of the inputs. Error{input}, here and below.
void check_inputs(const Graph& graph, const std::vector<TensorView>& inputs,
                  const std::vector<TensorView>& outputs);
// Memory where there are bytes.
void check_input_memory(const Graph& graph, const std::vector<TensorView>& inputs,
                        const Sizing& sizing);
// Dtypes, shapes, strides, and that outputs lie apart.
void check_outputs(const Graph& graph, const std::vector<TensorView>& outputs,
                   const Sizing& sizing);

}  // namespace ingot
