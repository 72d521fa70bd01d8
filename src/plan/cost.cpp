#include "plan/cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/cuda_threads.h"
#include "base/error.h"
#include "graph/reduction_order.h"
#include "plan/kept_row.h"

namespace ingot {
namespace {

constexpr double staging_worth = 6;  // instructions above which a value is kept, not made again
// On a GPU rows are kept in registers: a value wider than what it is made from has to be worth
// more, where the special-function unit may compute it again.
constexpr double gpu_worth = 12, gpu_worth_of_wide = 60;
constexpr double gpu_worth_of_half = 4;  // in the place of an operand as wide
constexpr double rounding_cost = 4;  // of a bf16 or f16 result on a CPU; one instruction on a GPU
constexpr double access_cost = 1;    // of a load or store

// Multiply-adds count as two.
Sym product_flops(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  const Shape& a = graph[node.operands[0]].type.shape;
  Sym results = element_count(node.type.shape);
  if (node.op == Op::matmul) {
    bool transposed = a.size() > 1 && flag_attr(op_info(node.op), node.attrs, "transpose_a");
    return Sym(2) * results * a[a.size() - (transposed ? 2 : 1)];
  }
  const Shape& weights = graph[node.operands[1]].type.shape;
  Sym each(1);
  for (size_t d = 1; d < weights.size(); ++d) each = each * weights[d];
  return Sym(2) * results * each;
}

// Which passes need a node, as bits, from its consumers back to front; picks what is staged.
class Passes {
 public:
  Passes(const Graph& graph, const Analysis& analysis, bool gpu, Numerics numerics)
      : graph_(graph), analysis_(analysis), gpu_(gpu) {
    keeps_wide_ = numerics == Numerics::exact && analysis.domain.columns.empty();
    last_ = std::min(analysis.levels, 31);
    subtree_costs();
    for (size_t i = analysis.nodes.size(); i-- > 0;) decide(analysis.nodes[i]);
  }

  uint32_t of(NodeId id, const Evaluation& e) const {
    uint32_t needed = e.stored ? 1u << std::min(last_, analysis_.level.at(id)) : 0u;
    for (NodeId consumer : e.consumers) needed |= computed_in(consumer);
    return needed == 0 ? 1u : needed;
  }
  uint32_t computed_in(NodeId id) const {
    if (is_contraction(graph_, id)) return 1u;
    if (is_column(analysis_.domain, id)) return 1u << std::min(last_, analysis_.level.at(id));
    if (is_reduction(graph_, id)) return 1u << std::max(0, analysis_.level.at(id) - 1);
    auto found = computed_.find(id);
    return found == computed_.end() ? 1u : found->second;
  }
  const std::vector<NodeId>& staged() const { return staged_; }
  uint32_t reads_of(NodeId staged) const { return staged_reads_.at(staged); }

 private:
  void subtree_costs() {
    for (NodeId id : analysis_.nodes) {
      double cost = instructions_of(graph_[id], gpu_);
      for (NodeId operand : graph_[id].operands) {
        auto found = subtree_.find(operand);
        bool once = is_reduction(graph_, operand) || is_contraction(graph_, operand);
        if (found == subtree_.end()) cost += access_cost;
        if (found != subtree_.end() && !once && !per_row(operand)) cost += found->second;
      }
      subtree_[id] = cost;
    }
  }

  bool per_row(NodeId id) const {
    auto found = analysis_.evaluations.find(id);
    return found != analysis_.evaluations.end() && !found->second.empty() &&
           found->second[0].per_row && analysis_.levels > 0;
  }

  double worth_of(NodeId id) const {
    if (!gpu_) return staging_worth;
    auto narrower = [&](const auto& read) {
      return byte_size(graph_[read.first].type.dtype) < byte_size(graph_[id].type.dtype);
    };
    const bool half = is_float(graph_[id].type.dtype) && byte_size(graph_[id].type.dtype) == 2;
    if (keeps_wide_ && half && std::ranges::none_of(analysis_.reads, narrower)) {
      return gpu_worth_of_half;
    }
    const bool wide = !keeps_wide_ && std::ranges::any_of(analysis_.reads, narrower);
    return wide ? gpu_worth_of_wide : gpu_worth;
  }

  void decide(NodeId id) {
    auto found = analysis_.evaluations.find(id);
    if (found == analysis_.evaluations.end() || is_reduction(graph_, id)) return;
    uint32_t needed = 0;
    for (const Evaluation& e : found->second) needed |= of(id, e);
    bool one_place =
        found->second.size() == 1 && !found->second[0].per_row && !found->second[0].run_time;
    // An output is stored anyway: reading it back costs one load.
    bool stored = found->second[0].stored;
    bool worth = subtree_.at(id) > (stored ? 2 * access_cost : worth_of(id)) &&
                 !reads_memory(graph_, id) && !is_scan(graph_, id) &&
                 op_info(graph_[id].op).category != Category::creation;
    if (std::popcount(needed) > 1 && one_place && worth && !is_view(graph_, id)) {
      staged_.insert(staged_.begin(), id);
      staged_reads_[id] = needed;
      needed &= ~(needed - 1);  // the first pass makes it, the others read it
    }
    computed_[id] = needed;
  }

  const Graph& graph_;
  const Analysis& analysis_;
  bool gpu_, keeps_wide_ = false;
  int last_;
  std::map<NodeId, double> subtree_;
  std::map<NodeId, uint32_t> computed_;
  std::vector<NodeId> staged_;
  std::map<NodeId, uint32_t> staged_reads_;
};

Sym scaled(const Sym& count, double factor) {
  return count * Sym(static_cast<int64_t>(factor + 0.5));
}

class Measure {
 public:
  Measure(const Graph& graph, const Analysis& analysis, bool gpu, Numerics numerics)
      : graph_(graph),
        analysis_(analysis),
        gpu_(gpu),
        exact_(numerics == Numerics::exact),
        passes_(graph, analysis, gpu, numerics) {}

  GroupCost run(const DeviceModel* device, const Bindings& sizes) {
    cost_.passes = analysis_.levels;
    for (NodeId id : analysis_.outputs) {  // values that need every reduction and the whole row
      bool last =
          analysis_.level.at(id) == analysis_.levels && !analysis_.evaluations.at(id)[0].per_row;
      if (last) cost_.passes = analysis_.levels + 1;
    }
    for (NodeId id : analysis_.domain.columns) {
      if (analysis_.level.at(id) == analysis_.levels) cost_.passes = analysis_.levels + 1;
    }
    cost_.staged = passes_.staged();
    compute();
    row();
    read(device, sizes);
    for (NodeId id : analysis_.outputs) {
      cost_.written = cost_.written + bytes_of(graph_, id);
      cost_.instructions =
          cost_.instructions + scaled(element_count(graph_[id].type.shape), access_cost);
    }
    const bool product =
        std::ranges::any_of(analysis_.nodes, [&](NodeId id) { return is_contraction(graph_, id); });
    if (device != nullptr && !product) {  // which walks over its operands by itself
      scatter(*device);
      spread();
    }
    return std::move(cost_);
  }

 private:
  void compute() {
    for (const auto& [id, evaluations] : analysis_.evaluations) {
      try {
        add_work(id, evaluations);
      } catch (const Error& error) {  // more operations than a number holds
        throw error.at(graph_[id].location);
      }
    }
  }

  void add_work(NodeId id, const std::vector<Evaluation>& evaluations) {
    const Node& node = graph_[id];
    if (is_contraction(graph_, id)) {
      cost_.product_flops = product_flops(graph_, id);
      cost_.flops = cost_.flops + cost_.product_flops;
      return;
    }
    for (const Evaluation& e : evaluations) {
      int times =
          e.per_row || is_reduction(graph_, id) ? 1 : std::popcount(passes_.computed_in(id));
      Sym executions = e.executions * Sym(times);
      cost_.flops = cost_.flops + scaled(executions, op_info(node.op).flops);
      const GpuInstructions each = instructions_of_device(node);
      cost_.instructions = cost_.instructions + scaled(executions, each.all);
      cost_.special = cost_.special + scaled(executions, each.special);
    }
  }

  // Of an element.
  GpuInstructions instructions_of_device(const Node& node) const {
    const bool half = is_float(node.type.dtype) && byte_size(node.type.dtype) == 2;
    const GpuInstructions& counted = op_info(node.op).gpu[half ? 1 : 0][exact_ ? 0 : 1];
    return gpu_ && counted.all > 0 ? counted : GpuInstructions{instructions_of(node, gpu_), 0};
  }

  // Nothing of a place that does not change with the innermost variable, or element by element; nor
  // of a buffer that a product's routine or a scatter reads, without an index.
  bool skips(NodeId id, const std::vector<Sym>& index) const {
    const std::vector<DomainVar>& vars = analysis_.domain.vars;
    if (vars.empty() || index.size() != graph_[id].type.shape.size()) return false;
    const std::optional<Sym> stride = flat_place(graph_, id, index).stride(vars.back().name);
    return stride && !stride->is(0) && !stride->is(1) && !stride->is(-1);
  }

  // Operands that are read across are turned over in tiles, but only where all results are stored
  // along (plan/schedule.cpp, tile_variable).
  void scatter(const DeviceModel& device) {
    auto besides = [&](NodeId id, const Sym& bytes) {
      const int64_t width = byte_size(graph_[id].type.dtype);
      return bytes * Sym(std::max<int64_t>(device.line_bytes() / width - 1, 0));
    };
    bool along = analysis_.levels == 0;
    for (NodeId id : analysis_.outputs) {
      if (!skips(id, analysis_.domain.index.at(id))) continue;
      along = false;
      cost_.scattered_written = cost_.scattered_written + besides(id, bytes_of(graph_, id));
    }
    for (const auto& [id, reads] : analysis_.reads) {
      for (const Evaluation& e : reads) {
        const bool in_tiles = along && reads.size() == 1;
        if (e.per_row || e.run_time || in_tiles || !skips(id, e.index)) continue;
        const Sym bytes = e.elements * Sym(byte_size(graph_[id].type.dtype));
        cost_.scattered_read = cost_.scattered_read + besides(id, bytes);
      }
    }
  }

  // Rows of several passes are not shared out among cores; on a GPU each chunk has a warp.
  void spread() {
    const Domain& domain = analysis_.domain;
    cost_.rows_as = row_shape(domain, analysis_.outputs);
    if (gpu_ && !domain.trailing_reduced && analysis_.levels > 0 && domain.vars.size() > 1) {
      // A warp sums up 64 rows of 128 columns.
      Sym rows(1), columns(1);
      for (const DomainVar& var : domain.vars) {
        Sym& count = var.reduced ? rows : columns;
        count = count * var.extent;
      }
      cost_.parallel = ceil_div(rows, Sym(64)) * ceil_div(columns, Sym(128));
    }
    if (!domain.trailing_reduced || domain.vars.empty()) return;
    bool full = false;
    for (NodeId id : analysis_.outputs) {
      const std::vector<Evaluation>& evaluations = analysis_.evaluations.at(id);
      full = full || (!evaluations.empty() && !evaluations[0].per_row);
    }
    // A CPU's cores share out the parts of rows that need no second pass.
    if (!gpu_ && !full && analysis_.levels == 1 && domain.columns.empty()) return;
    const Sym chunks = gpu_ ? ceil_div(domain.vars.back().extent, Sym(trailing_chunk)) : Sym(1);
    cost_.parallel = row_count(domain) * chunks;
  }

  // What is the same in every row stays near by itself.
  bool differs_by_row(const Evaluation& read) const {
    return std::ranges::any_of(analysis_.domain.vars, [&](const DomainVar& var) {
      return !var.reduced &&
             std::ranges::any_of(read.index, [&](const Sym& at) { return at.uses(var.name); });
    });
  }

  Sym row_length() const {
    Sym length(analysis_.domain.trailing_reduced ? 1 : reduction_lanes);
    for (const DomainVar& var : analysis_.domain.vars) {
      if (var.reduced) length = length * var.extent;
    }
    return length;
  }

  // What a row's later passes come back to.
  void row() {
    const Sym length = row_length();
    auto add = [&](DType dtype) {
      cost_.row_bytes = cost_.row_bytes + length * Sym(byte_size(dtype));
    };
    for (const auto& [id, reads] : analysis_.reads) {
      for (const Evaluation& e : reads) {
        if (!e.per_row && std::popcount(passes_.of(id, e)) > 1) {
          add(graph_[id].type.dtype);
          if (reads.size() == 1 && !e.run_time && differs_by_row(e))
            cost_.rows.push_back({id, passes_.of(id, e)});
        }
      }
    }
    for (NodeId id : cost_.staged) {
      add(graph_[id].type.dtype);
      cost_.rows.push_back({id, passes_.reads_of(id)});
    }
  }

  // Registers hold what the schedule keeps there; the rest of a row has to fit the fast memory.
  // Returns what they hold.
  std::vector<NodeId> keep(const DeviceModel& device, const Bindings& sizes) {
    const bool bands = !analysis_.domain.columns.empty();  // of rows, which keep as much
    std::vector<NodeId> kept;
    if (gpu_ && !bands) {
      kept = kept_row(graph_, analysis_.nodes, analysis_.domain, cost_, device).values;
    }
    Sym rest = cost_.row_bytes;
    for (const NodeId id : kept) {
      rest = rest - row_length() * Sym(byte_size(graph_[id].type.dtype));
    }
    const bool known = bands && cost_.row_bytes.constant().has_value();
    cost_.near_row_bytes = device.near_row_bytes(known);
    cost_.row_stays = at_sizes(rest, sizes) <= cost_.near_row_bytes;
    return kept;
  }

  void read(const DeviceModel* device, const Bindings& sizes) {
    const std::vector<NodeId> kept =
        device == nullptr ? std::vector<NodeId>{} : keep(*device, sizes);
    for (const auto& [id, reads] : analysis_.reads) {
      Sym elements(0), again(0), picked(0);
      for (const Evaluation& e : reads) {
        (e.run_time ? picked : elements) = (e.run_time ? picked : elements) + e.elements;
        int times = e.per_row ? 1 : std::popcount(passes_.of(id, e));
        const bool near = cost_.row_stays || std::ranges::find(kept, id) != kept.end();
        if (!near && times > 1) again = again + e.elements * Sym(times - 1);
        bool loaded = !e.index.empty() || graph_[id].type.shape.empty();
        if (loaded) {
          cost_.instructions = cost_.instructions + scaled(e.executions * Sym(times), access_cost);
        }
      }
      elements = smaller(elements, element_count(graph_[id].type.shape)) + picked;
      Sym width(byte_size(graph_[id].type.dtype));
      cost_.read[id] = elements * width;
      cost_.read_bytes = cost_.read_bytes + (elements + again) * width;
    }
  }

  const Graph& graph_;
  const Analysis& analysis_;
  bool gpu_, exact_;
  Passes passes_;
  GroupCost cost_;
};

}  // namespace

RowShape row_shape(const Domain& domain, const std::vector<NodeId>& outputs) {
  RowShape rows;
  rows.columns = !domain.columns.empty();
  if (domain.vars.empty() || !domain.vars.back().reduced) return rows;
  rows.length = domain.vars.back().extent;
  rows.comes_back = std::ranges::any_of(outputs, [&](NodeId id) {
    const auto found = domain.index.find(id);
    return found != domain.index.end() && std::ranges::any_of(found->second, [&](const Sym& at) {
             return at.uses(domain.vars.back().name);
           });
  });
  return rows;
}

double instructions_of(const Node& node, bool gpu) {
  double cost = op_info(node.op).instructions;
  bool rounds = is_float(node.type.dtype) && compute_dtype(node.type.dtype) != node.type.dtype;
  bool arithmetic = op_info(node.op).category == Category::elementwise;
  return cost + (rounds && arithmetic ? (gpu ? 1 : rounding_cost) : 0);
}

GroupCost measure(const Graph& graph, const Analysis& analysis, const DeviceModel* device,
                  const Bindings& sizes, Numerics numerics) {
  return Measure(graph, analysis, device != nullptr && device->gpu, numerics).run(device, sizes);
}

double at_sizes(const Sym& value, const Bindings& sizes) {
  if (std::optional<int64_t> constant = value.constant()) return static_cast<double>(*constant);
  return value.estimate(sizes, static_cast<double>(unlisted_size));
}

Sym bytes_of(const Graph& graph, NodeId node) {
  return element_count(graph[node].type.shape) * Sym(byte_size(graph[node].type.dtype));
}

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

namespace {

// How well loads and stores overlap with arithmetic: the power of a norm of both times; infinite
// were the larger one alone. Fitted to bench/RESULTS.md (docs/design.md, "Cost model").
constexpr double gpu_overlap = 6, cpu_overlap = 1.6;
constexpr double overlap_of_long_rows = 2;  // one of them fills a multiprocessor
constexpr double busy_warps = 8;            // of a multiprocessor, that keep its memory busy,
constexpr double row_warps = 16;            // its arithmetic, where each has a part of a row,
constexpr double column_warps = 32;         // and in sums of columns row by row
constexpr double pass_us = 0.4;             // between passes of a row on a GPU: a barrier, a load
constexpr double pass_of_warp_us = 0.15;    // of a row that one warp has: no barrier
// So many bytes on their way to a warp: all at once where it keeps a row, else in turns.
constexpr double warp_bytes = 4096, load_us = 0.3, load_in_turns_us = 0.8;
constexpr double load_alone_us = 0.4;  // of a kernel that is no row's
constexpr double most_of_rate = 3;  // of its share of the memory rate, that a multiprocessor takes
constexpr double long_row = 32 << 10;  // elements
constexpr double of_bands = 0.75;  // of the memory rate, where rows wait for each other in bands
constexpr double bytes_to_fill = 64 << 20;  // that a kernel moves before its start is whole

double together(double a, double b, double power) {
  const double larger = std::max(a, b), smaller = std::min(a, b);
  return larger <= 0 ? 0 : larger * std::pow(1 + std::pow(smaller / larger, power), 1 / power);
}

// A CPU's caches keep what fits from one call to the next.
double share_in_cache(const DeviceModel& device, double bytes) {
  if (device.gpu) return 0;
  return std::clamp((2 * device.cache_bytes - bytes) / (1.5 * device.cache_bytes), 0.0, 1.0);
}

Work work(const DeviceModel& device, double read, double written, const Bindings& sizes,
          const Sym& instructions, const Sym& special, const Sym& product, const Sym& parallel,
          const RowShape& rows) {
  Work result;
  result.read = read;
  result.written = written;
  result.cached = (read + written) * share_in_cache(device, read + written);
  result.instructions = at_sizes(instructions, sizes);
  result.special = at_sizes(special, sizes);
  result.product_flops = at_sizes(product, sizes);
  result.parallel = at_sizes(parallel, sizes);
  result.row_length = at_sizes(rows.length, sizes);
  result.comes_back = rows.comes_back;
  result.columns = rows.columns;
  return result;
}

}  // namespace

Work work_of(const GroupCost& cost, const DeviceModel& device, const Bindings& sizes) {
  return work(device, at_sizes(cost.read_bytes + cost.scattered_read, sizes),
              at_sizes(cost.written + cost.scattered_written, sizes), sizes, cost.instructions,
              cost.special, cost.product_flops, cost.parallel, cost.rows_as);
}

Work work_of(const Group& group, const DeviceModel& device, const Bindings& sizes) {
  return work(
      device, at_sizes(group.traffic.read + group.scattered_read, sizes),
      at_sizes(group.traffic.written + group.traffic.workspace + group.scattered_written, sizes),
      sizes, group.instructions, group.special, group.product_flops, group.parallel,
      row_shape(group.domain, group.outputs));
}

namespace {

// What a kernel has of the device: shares of its memory rate and of its arithmetic; and what a warp
// waits for its loads and other warps of its row.
struct Use {
  double memory = 1, compute = 1, wait_us = 0;
};

Use use_of(const DeviceModel& device, const Work& work) {
  Use use;
  if (device.gpu) use.wait_us = load_alone_us;
  if (work.parallel <= 0) return use;
  const double processors = device.multiprocessors;
  if (!device.gpu) {
    use.memory = use.compute = std::min(1.0, work.parallel / processors);
    return use;
  }
  if (work.row_length <= 0) {
    use.memory = std::min(1.0, work.parallel / processors / busy_warps);
    use.compute = std::min(1.0, work.parallel / processors / column_warps);
    return use;
  }
  // A row that is come back to has one block, or a cluster of several, and a warp for each chunk.
  const double chunks = std::ceil(work.row_length / trailing_chunk);
  const double blocks = work.comes_back ? std::ceil(chunks / cuda::most_warps) : chunks;
  const double rows = work.parallel / chunks;
  const double busy = rows * std::min(chunks, blocks * row_warps);
  use.memory = std::min(1.0, most_of_rate * rows * blocks / processors);
  use.compute = std::min(1.0, busy / processors / row_warps);
  use.wait_us =
      (work.comes_back ? load_us : load_in_turns_us) * work.read / work.parallel / warp_bytes;
  if (work.comes_back) use.wait_us += 2 * (chunks > 1 ? pass_us : pass_of_warp_us);
  return use;
}

}  // namespace

WorkTime work_time(const DeviceModel& device, const Work& work) {
  const Use use = use_of(device, work);
  const double rate = use.memory * (device.gpu && work.columns ? of_bands : 1);
  const double bytes = work.read + work.written, cached = std::min(work.cached, bytes);
  // Between a copy, half of which is read, and a stream that is only read.
  const double reads = bytes > 0 ? std::clamp(2 * work.read / bytes - 1, 0.0, 1.0) : 0;
  const double gbs = device.copy_gbs + reads * (device.read_gbs - device.copy_gbs);
  const double fills = std::min(1.0, bytes / bytes_to_fill);
  WorkTime time{};
  time.memory_us =
      (cached / device.cache_gbs + (bytes - cached) / gbs) / 1e3 / rate + device.start_us * fills;
  time.memory_us += use.wait_us;
  const double special = device.special_gps > 0 ? work.special / device.special_gps : 0;
  time.compute_us =
      std::max(work.instructions / device.instructions_gps, special) / 1e3 / use.compute +
      work.product_flops / (device.product_gflops * 1e3);
  const double overlap = !device.gpu                   ? cpu_overlap
                         : work.row_length >= long_row ? overlap_of_long_rows
                                                       : gpu_overlap;
  time.us = together(time.memory_us, time.compute_us, overlap);
  return time;
}

double copy_us(const DeviceModel& device, double bytes) { return bytes / (device.copy_gbs * 1e3); }

}  // namespace ingot
