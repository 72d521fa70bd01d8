// Operands that are read across their rows: a tile of them at a time is turned over into a buffer
// of the thread's own (on a GPU of the block's own), where loads follow the lanes.
#include <algorithm>

#include "base/error.h"
#include "lower/nest.h"

namespace ingot::lowering {
namespace {

constexpr int64_t side = 64;          // of a tile
constexpr int64_t pitch = side + 16;  // its rows in different sets of the cache
// What an iteration goes through, tile by tile; in the caches no more than another thread is worth.
constexpr int64_t longest_walk = 4096, cached_walk = 256;

// `block`, or what is left of `extent` from `first` on.
Sym part_of(const Sym& extent, const Sym& first, int64_t block) {
  std::optional<int64_t> length = extent.constant();
  if (length && *length % block == 0) return block;
  return min(Sym(block), extent - first);
}

}  // namespace

// Those at one index that counts with the tile's variable and not with the last.
std::vector<Tile> Nest::transposed_operands(int64_t elements) {
  std::vector<Tile> tiles;
  if (findings_ == nullptr) return tiles;
  const std::string& last = kept_.back().name;
  for (NodeId id : group_.inputs) {
    const std::vector<Sym>* index = findings_->index_ahead(id);
    if (index == nullptr || is_empty(id)) continue;
    Sym flat = flat_index(graph_[id].type.shape, *index);
    std::optional<Sym> along = flat.stride(schedule_.tile_variable), across = flat.stride(last);
    if (!along || !along->is(1) || !across || across->is(0)) continue;
    const std::string buffer =
        values_.scratch(graph_[id].name + "_tile", graph_[id].type.dtype, Sym(elements));
    tiles.push_back({id, buffer, flat});
  }
  return tiles;
}

// The variables of a tile, taken out of the others: that of the operands' rows, which is the last
// of the outputs, and that of their columns.
std::pair<Var, Var> Nest::tile_variables(std::vector<Var>& outer) const {
  const Var rows = outer.back();
  outer.pop_back();
  auto found = std::find_if(outer.begin(), outer.end(), [&](const Var& var) {
    return var.parts.back().name == schedule_.tile_variable;
  });
  INGOT_CHECK(found != outer.end(), "group {}: no variable {}", group_.name,
              schedule_.tile_variable);
  const Var columns = *found;
  outer.erase(found);
  return {rows, columns};
}

void Nest::bind_place(const Var& var, const Sym& place) {
  for (const DomainVar& each : var.parts) values_.bind_var(each.name, Sym(0));
  values_.bind_var(var.parts.back().name, place);
}

void Nest::turn_over(const std::vector<Tile>& tiles, int64_t pitch, const Var& rows,
                     const Sym& height, const Sym& width) {
  for (const Tile& each : tiles) {
    values_.statements().push_back(loop::Transpose{
        each.buffer, values_.buffer(each.node), Sym(0), values_.substituted(each.flat), Sym(pitch),
        *each.flat.stride(rows.parts.back().name), height, width});
  }
}

// The elementwise work, with the operands' elements at `place` of their tiles.
void Nest::body_on_tiles(const std::vector<Tile>& tiles, const Sym& place) {
  for (const Tile& each : tiles) {
    values_.bind_element(each.node, each.buffer, graph_[each.node].type.dtype, place);
  }
  body();
}

// An iteration goes through the tiles of one block of rows of the operands, or of the outputs.
void Nest::tile_phase() {
  std::vector<Var> outer = merged(kept_, true);
  const auto [rows, columns] = tile_variables(outer);
  const Var& walked = schedule_.tiles_along_outputs ? rows : columns;
  const Var& fixed = schedule_.tiles_along_outputs ? columns : rows;
  const std::vector<Tile> tiles = transposed_operands(side * pitch);
  Sym others(1);
  for (const Var& var : outer) others = others * var.extent;
  const Sym blocks = ceil_div(fixed.extent, Sym(side));
  const int64_t walk = schedule_.streaming ? longest_walk : cached_walk;
  const Sym parts = ceil_div(walked.extent, Sym(walk));

  std::string p = values_.unique("p"), tile = values_.unique("tile"), i = values_.unique("i"),
              j = values_.unique("j");
  values_.open(p, others * blocks * parts);
  Sym rest = floor_div(Sym::var(p), parts);
  bind_outer(outer, floor_div(rest, blocks));
  const Sym block = Sym(side) * (outer.empty() ? rest : mod(rest, blocks));
  const Sym part = Sym(walk) * mod(Sym::var(p), parts);
  values_.open(tile, ceil_div(part_of(walked.extent, part, walk), Sym(side)));
  const Sym step = part + Sym(side) * Sym::var(tile);
  const Sym row = schedule_.tiles_along_outputs ? step : block;
  const Sym column = schedule_.tiles_along_outputs ? block : step;
  const Sym height = part_of(rows.extent, row, side), width = part_of(columns.extent, column, side);
  bind_place(rows, row);
  bind_place(columns, column);
  turn_over(tiles, pitch, rows, height, width);
  values_.open(j, height);
  values_.open(i, width);
  // The tile that comes next, row by row of the operand.
  bind_place(rows, row + Sym::var(i));
  bind_place(columns, column + Sym::var(j));
  for (const Tile& each : tiles) {
    if (!schedule_.streaming) break;
    const Sym next = *each.flat.stride(walked.parts.back().name) * Sym(side);
    values_.statements().push_back(
        loop::Prefetch{values_.buffer(each.node), values_.substituted(each.flat) + next, 2});
  }
  bind_place(rows, row + Sym::var(j));
  bind_place(columns, column + Sym::var(i));
  body_on_tiles(tiles, Sym(pitch) * Sym::var(i) + Sym::var(j));
  prefetch_iterations(tile, 1);
  values_.close_loop(loop::LoopKind::serial);
  values_.close_loop(loop::LoopKind::vector);
  values_.close_loop(loop::LoopKind::serial);
  const int64_t length = std::min(walked.extent.constant().value_or(walk), walk);
  add_phase(p, others * blocks * parts, grain_for(side * length));
}

// On a GPU a block takes one tile, and blocks side by side those that are side by side in the
// outputs.
void Nest::tile_blocks() {
  std::vector<Var> outer = merged(kept_, true);
  const auto [rows, columns] = tile_variables(outer);
  const int64_t down = schedule_.tile_rows, across = schedule_.tile_columns;
  const std::vector<Tile> tiles = transposed_operands(down * across);
  Sym others(1);
  for (const Var& var : outer) others = others * var.extent;
  const Sym blocks = ceil_div(rows.extent, Sym(down));
  const Sym parts = ceil_div(columns.extent, Sym(across));

  const std::string p = values_.unique("p"), i = values_.unique("i"), j = values_.unique("j");
  values_.open(p, others * blocks * parts);
  const Sym rest = floor_div(Sym::var(p), blocks);
  bind_outer(outer, floor_div(rest, parts));
  const Sym row = Sym(down) * mod(Sym::var(p), blocks);
  const Sym column = Sym(across) * (outer.empty() ? rest : mod(rest, parts));
  const Sym height = part_of(rows.extent, row, down);
  const Sym width = part_of(columns.extent, column, across);
  bind_place(rows, row);
  bind_place(columns, column);
  turn_over(tiles, down, rows, height, width);
  values_.open(i, width);
  values_.open(j, height);
  bind_place(rows, row + Sym::var(j));
  bind_place(columns, column + Sym::var(i));
  body_on_tiles(tiles, Sym(down) * Sym::var(i) + Sym::var(j));
  values_.close_loop(loop::LoopKind::vector);
  values_.close_loop(loop::LoopKind::spread);
  add_phase(p, others * blocks * parts, grain_for(down * across));
}

}  // namespace ingot::lowering
