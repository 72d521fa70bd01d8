// Tiles of operands that are read across their rows, in a CUDA block's shared memory.
#include <algorithm>
#include <bit>

#include "emit/cpp_emitter.h"

namespace ingot {

using namespace loop;

void Emitter::note_tile(const Transpose& transpose) {
  const auto scratch = std::ranges::find(kernel_.scratch, transpose.dst, &Scratch::name);
  INGOT_CHECK(scratch != kernel_.scratch.end(), "kernel {}: no scratch buffer '{}'", kernel_.name,
              transpose.dst);
  const std::optional<int64_t> elements = scratch->elements.constant();
  const std::optional<int64_t> rows = transpose.dst_stride.constant();
  const auto power = [](int64_t n) { return n > 0 && std::has_single_bit(static_cast<size_t>(n)); };
  INGOT_CHECK(rows && elements && power(*rows) && power(*elements) && transpose.dst_index.is(0) &&
                  *rows % target_.lanes == 0 && target_.threads() * target_.lanes == *rows,
              "kernel {}: a tile of {} by {} elements", kernel_.name, transpose.dst_stride.text(),
              scratch->elements.text());
  tiles_[transpose.dst] = {*rows, *elements / *rows};
  matrices_ = matrices_ && byte_size(scratch->dtype) == 2 && transpose.rows.is(*rows) &&
              transpose.columns.is(*elements / *rows);
}

// The numbers of a thread's group and of the thread in it. Where a warp loads whole blocks of 8 by
// 8 elements together it has 8 columns of 32 rows, else as many rows side by side as there are.
void Emitter::declare_group() {
  const int64_t threads = target_.threads();
  if (tiles_.empty() || !matrices_) {
    line(fmt::format("const int warp = threadIdx.x / {0}, thread = threadIdx.x % {0};", threads));
    return;
  }
  line(fmt::format("const int warp = threadIdx.x / {} * 8 + threadIdx.x % 32 / 4;", 8 * threads));
  line(fmt::format("const int thread = threadIdx.x / 32 % {} * 4 + threadIdx.x % 4;", threads / 4));
}

void Emitter::declare_tiles(const Phase& phase) {
  for (const Stmt& stmt : phase.body) {
    const auto* transpose = std::get_if<Transpose>(&stmt);
    if (transpose == nullptr || buffers_.contains(transpose->dst)) continue;
    const Tile& tile = tiles_.at(transpose->dst);
    buffers_[transpose->dst] = names_.unique(transpose->dst);
    line(fmt::format("__shared__ __align__(16) {} {}[{}];",
                     storage_type(buffer_dtypes_.at(transpose->dst)), buffers_[transpose->dst],
                     tile.rows * tile.columns));
  }
}

void Emitter::fill_tile(const Transpose& t) {
  INGOT_CHECK(buffers_.contains(t.dst), "kernel {}: a tile inside a loop on a GPU", kernel_.name);
  const Tile& tile = tiles_.at(t.dst);
  const int64_t piece = 16 / byte_size(buffer_dtypes_.at(t.dst));
  const bool whole = t.rows.is(tile.rows) && t.columns.is(tile.columns) &&
                     multiple_of(t.src_index, piece) && multiple_of(t.src_stride, piece);
  call_line(fmt::format("fill_tile<{}, {}, {}, {}, {}>", tile.rows, tile.columns, target_.block,
                        matrices_, whole),
            {buffers_.at(t.dst), pointer(t.src, t.src_index), subscript(t.src_stride),
             subscript(t.rows), subscript(t.columns)});
}

// Element i of row j is at rows·i + j, as if it lay turned over.
std::string Emitter::tile_text(const Load& load) const {
  const Tile& tile = tiles_.at(load.buffer);
  const LaneAccess at = access(load.index);
  Sym row, column;
  for (const Sym::Term& term : at.index.terms()) {
    const bool whole = term.factor % tile.rows == 0;
    (whole ? column : row) =
        (whole ? column : row) +
        Sym::sum(0, {{term.atoms, whole ? term.factor / tile.rows : term.factor}});
  }
  INGOT_CHECK(chunk_ && at.kind == LaneAccess::contiguous && load.guards.empty() &&
                  at.index.constant_part() == 0 && aligned(row),
              "kernel {}: tile '{}' at {}", kernel_.name, load.buffer, load.index.text());
  return fmt::format("lanes_{}(tile_{}<{}>({}, {}, {}))", dtype_name(load.dtype),
                     matrices_ ? "matrices" : "lanes", tile.columns, buffers_.at(load.buffer),
                     subscript(row), subscript(column));
}

}  // namespace ingot
