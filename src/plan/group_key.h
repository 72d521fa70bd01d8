// What makes a group the same in another program: its ops, types and sizes, without names.
#pragma once

#include "plan/partition.h"

namespace ingot {

// Changes where schedules, units or what a choice means change: measurements of another one are
// those of other kernels.
inline constexpr int plan_version = 1;

struct GroupKey {
  // A line each for the buffers read and the ops, in the program's order, with dtypes, shapes and
  // attributes; sizes are called n0, n1, … as they appear; units are marked, and what is stored.
  std::string text;
  std::string sizes;  // class of each named size ("14,3": 16384 to 32767 and 8 to 15); "-": none
};

// `nodes` as a Part has them, `outputs` what the group stores; a size not listed counts as 1024.
GroupKey group_key(const Graph& graph, const UnitGraph& units, const std::vector<NodeId>& nodes,
                   const std::vector<NodeId>& outputs, const Bindings& sizes);

// Parts of a group by its units, numbered from 0 in their order: "0-2|2,4"; a unit that stands in
// an earlier part is computed again.
std::string parts_text(const UnitGraph& units, const std::vector<NodeId>& nodes,
                       const std::vector<Part>& parts);
// Nothing where the text does not divide these nodes: each in a part at least, none of them empty.
std::optional<std::vector<Part>> parse_parts(const UnitGraph& units,
                                             const std::vector<NodeId>& nodes,
                                             std::string_view text);
// Each unit of the nodes, ascending, with its nodes among them.
std::vector<std::vector<NodeId>> units_within(const UnitGraph& units,
                                              const std::vector<NodeId>& nodes);

}  // namespace ingot
