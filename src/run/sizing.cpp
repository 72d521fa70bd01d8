#include "run/sizing.h"

#include <algorithm>

#include "base/error.h"
#include "plan/cost.h"
#include "run/memory_block.h"

namespace ingot {

int64_t byte_count(DType dtype, const std::vector<int64_t>& shape, const std::string& name) {
  int64_t bytes = byte_size(dtype);
  // An empty tensor has no bytes, however large its other dimensions.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      fail_input({}, fmt::format("{}: its byte count overflows 64 bits", name));
    }
  }
  return bytes;
}

namespace {

// Each intermediate in a place of its own.
void lay_apart(const Graph& graph, const Bindings& bindings, BufferPlan* buffers) {
  buffers->arena_bytes = 0;
  for (auto& [node, offset] : buffers->offset) {
    offset = buffers->arena_bytes;
    buffers->arena_bytes += aligned(bytes_of(graph, node).evaluate(bindings));
  }
}

// Workspaces of a kernel lie behind the intermediates; kernels use that room in turn, or apart.
VariantSizing size_variant(const KernelSource& source, const Bindings& bindings,
                           int64_t workspace_begin, Sizing& sizing) {
  VariantSizing variant;
  variant.permitted = true;
  for (const std::string& name : source.sizes) {
    const auto bound = bindings.find(name);
    INGOT_CHECK(bound != bindings.end(), "{} needs size {}", source.name, name);
    variant.sizes.push_back(bound->second);
  }
  int64_t end = workspace_begin;
  for (const ParamSource& param : source.params) {
    variant.workspace_offset.push_back(param.workspace ? end : -1);
    if (param.workspace) end += aligned(param.bytes.evaluate(bindings));
  }
  for (const PhaseSource& phase : source.phases) {
    variant.extents.push_back(phase.extent.evaluate(bindings));
  }
  sizing.arena_bytes = std::max(sizing.arena_bytes, end);
  sizing.scratch_bytes =
      std::max(sizing.scratch_bytes, aligned(source.scratch_bytes.evaluate(bindings)));
  return variant;
}

}  // namespace

Sizing make_sizing(const Graph& graph, const Plan& plan,
                   const std::vector<std::vector<KernelSource>>& sources,
                   const std::vector<std::vector<int64_t>>& input_shapes, ArenaUse use) {
  Sizing sizing;
  const Bindings bindings = bind_sizes(graph, input_shapes);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Node& node = graph[graph.inputs[i]];
    sizing.input_bytes.push_back(byte_count(node.type.dtype, input_shapes[i], node.name));
  }
  for (const NodeId output : graph.outputs) {
    const Node& node = graph[output];
    sizing.output_shapes.push_back(evaluate(node.type.shape, bindings));
    sizing.output_bytes.push_back(
        byte_count(node.type.dtype, sizing.output_shapes.back(), node.name));
  }
  BufferPlan buffers = plan_buffers(graph, plan, bindings);
  if (use == ArenaUse::apart) lay_apart(graph, bindings, &buffers);
  sizing.node_offset.assign(graph.nodes.size(), -1);
  for (const auto& [node, offset] : buffers.offset) {
    sizing.node_offset[static_cast<size_t>(node)] = offset;
  }
  sizing.arena_bytes = buffers.arena_bytes;
  int64_t workspace_begin = aligned(buffers.arena_bytes);
  for (size_t g = 0; g < sources.size(); ++g) {
    if (use == ArenaUse::apart) workspace_begin = aligned(sizing.arena_bytes);
    std::vector<VariantSizing>& variants = sizing.groups.emplace_back();
    for (size_t v = 0; v < sources[g].size(); ++v) {
      variants.emplace_back();
      if (!guards_hold(plan.groups[g].schedules[v], bindings)) continue;
      variants.back() = size_variant(sources[g][v], bindings, workspace_begin, sizing);
    }
  }
  return sizing;
}

}  // namespace ingot
