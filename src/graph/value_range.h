// What values a node can have, as far as the op table tells: a tanh lies in [-1, 1], and a tanh
// times its own sigmoid in [-0.74, 0.74].
#pragma once

#include <array>
#include <limits>

#include "graph/graph.h"

namespace ingot {

// Every value of a node that is not NaN lies in [low, high].
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool bounded() const;
  double magnitude() const;  // the largest
};

// A shorter formula for a node, whose values follow from `operand`'s, which lie in a known range:
// a polynomial, coefficients from the highest power on, or a form of the op's own.
struct Narrowing {
  NodeId operand;
  Form form;
  std::vector<double> polynomial;
};

// Of every node. Rounding, and the errors of functions, are taken in.
std::vector<ValueRange> value_ranges(const Graph& graph);

// An elementwise node's real attributes, as its formula takes them.
std::array<double, 3> real_attrs(const Node& node);

}  // namespace ingot
