// Bytes, FLOPs and instructions of a group, counted from the walk over its domain.
#pragma once

#include "plan/units.h"

namespace ingot {

inline constexpr int64_t unlisted_size = 1024;  // what a named size counts as where none is given

struct GroupCost {
  std::map<NodeId, Sym> read;  // bytes of each buffer read, once
  Sym read_bytes;              // all of them; rows beyond the fast memory count for every pass
  Sym written;
  Sym flops, product_flops;  // flops includes product_flops
  Sym instructions;
  Sym row_bytes;              // what later passes read again: inputs of a row and staged values
  bool row_stays = true;      // near the processor between the passes
  double near_row_bytes = 0;  // of a row that stays outside registers
  int passes = 1;
  std::vector<NodeId> staged;  // computed once and kept for later passes
  // What could be kept from pass to pass: staged values, and buffers read at one place. Bit p: pass
  // p.
  struct Row {
    NodeId id;
    uint32_t passes;
  };
  std::vector<Row> rows;
};

// `device` may be null: then nothing is read twice.
GroupCost measure(const Graph& graph, const Analysis& analysis, const DeviceModel* device,
                  const Bindings& sizes, Numerics numerics);

// Estimated vector instructions of an element.
double instructions_of(const Node& node, bool gpu);

// Value at concrete sizes; a size not listed counts as 1024.
double at_sizes(const Sym& value, const Bindings& sizes);
Sym bytes_of(const Graph& graph, NodeId node);
// "512.0 MiB"
std::string bytes_text(double bytes);

// The time of loads, stores and instructions in µs, without the launch.
double work_us(const DeviceModel& device, double bytes, double instructions, double product_flops);

}  // namespace ingot
