// Bytes, FLOPs and instructions of a group, counted from the walk over its domain.
#pragma once

#include "plan/units.h"

namespace ingot {

inline constexpr int64_t unlisted_size = 1024;  // what a named size counts as where none is given

// How a kernel's reductions go over rows, as far as its time depends on it.
struct RowShape {
  Sym length;               // of a row that is reduced; 0: none
  bool comes_back = false;  // results of a row stand at all its elements: more than one pass
  bool columns = false;     // rows and columns of one input
};
RowShape row_shape(const Domain& domain, const std::vector<NodeId>& outputs);

struct GroupCost {
  std::map<NodeId, Sym> read;  // bytes of each buffer read, once
  Sym read_bytes;              // all of them; rows beyond the fast memory count for every pass
  Sym written;
  Sym flops, product_flops;  // flops includes product_flops
  Sym instructions;
  Sym special;  // of them those of a GPU's special-function unit
  // What accesses that skip from element to element move besides: whole lines.
  Sym scattered_read, scattered_written;
  Sym parallel;  // warps (GPU) or rows (CPU) that have work; 0: enough
  RowShape rows_as;
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

// What a kernel does, at concrete sizes.
struct Work {
  double read = 0, written = 0;  // bytes at device memory, lines as wholes
  double cached = 0;             // of them those that the last-level cache has
  double instructions = 0, special = 0, product_flops = 0;
  double parallel = 0;  // as in GroupCost
  double row_length = 0;
  bool comes_back = false, columns = false;
};
Work work_of(const GroupCost& cost, const DeviceModel& device, const Bindings& sizes);
Work work_of(const Group& group, const DeviceModel& device, const Bindings& sizes);

// Predicted, µs, without the launch. Memory and arithmetic overlap, but not fully.
struct WorkTime {
  double us, memory_us, compute_us;
};
WorkTime work_time(const DeviceModel& device, const Work& work);
// Of so many bytes, half of them written.
double copy_us(const DeviceModel& device, double bytes);

}  // namespace ingot
