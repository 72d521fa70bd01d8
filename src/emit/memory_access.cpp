// Loads and stores: a whole chunk, lane by lane, rows side by side, rows in registers; prefetch.
#include <algorithm>

#include "emit/cpp_emitter.h"

namespace ingot {

using namespace loop;

namespace {

// The vocabulary stores past the caches in these types; rows side by side in those of 4 bytes.
bool can_stream(DType dtype, bool rows) {
  if (dtype == DType::f32 || dtype == DType::i32) return true;
  return !rows && (dtype == DType::f64 || dtype == DType::i64 || dtype == DType::bf16 ||
                   dtype == DType::f16);
}

constexpr int64_t cache_line = 64;

}  // namespace

void Emitter::emit(const Load& load) {
  bool varying = chunk_ && is_varying(Stmt(load));
  // Guards that differ by lane are reported where they are tested.
  if (load.report >= 0 && !differs_by_lane(load.guards)) {
    line(fmt::format("if (!({})) {}", condition(load.guards), raised(load)));
  }
  if (!varying && in_subscripts_.contains(load.name) && !is_float(load.dtype)) {
    return emit_subscript_load(load);
  }
  const auto uses = uses_.find(load.name);
  const bool kept = uses != uses_.end() && uses->second.contains("row");
  if (kept && chunk_ && !by_lane(load) && load.guards.empty() &&
      access(load.index).kind == LaneAccess::contiguous) {
    return emit_kept(load);
  }
  define(load.name, load.dtype, lanes_of(load.dtype), varying, [&](const std::string& name) {
    return by_lane(load) ? lane_load(load, name) : load_text(load);
  });
}

// What a row of registers holds: taken apart differently in each pass, see low_bf16.
std::string Emitter::kept_text(const Load& load) {
  const std::string row =
      is_thread_row(load.buffer)
          ? thread_row(load.buffer, load.index)
          : fmt::format("{}({}{})", whole_word(load.index).empty() ? "some" : "whole",
                        pointer(load.buffer, access(load.index).index),
                        whole_word(load.index).empty() && chunk_->live.empty() ? ", all_lanes"
                                                                               : live_argument());
  if (auto now = packs_now_.find(load.buffer); now != packs_now_.end()) {
    std::string& loop = now->second.loop;
    if (loop.empty()) loop = chunk_->ir_var;
    const std::string first = loop == chunk_->ir_var ? " = " + row : "";
    return fmt::format("lanes_{}({}{})", dtype_name(load.dtype), now->second.name, first);
  }
  constexpr int ways = 3;
  if (load.dtype != DType::bf16) return fmt::format("lanes_{}({})", dtype_name(load.dtype), row);
  return fmt::format("again_bf16<{}>({})", ++row_reads_[load.buffer] % ways, row);
}

// A load whose elements go into a row of registers as they are.
void Emitter::emit_kept(const Load& load) {
  LaneAccess at = access(load.index);
  const std::string pack = names_.unique(load.name + "_pack");
  line(fmt::format(
      "const Pack<{}> {} = {}({}{});", storage_type(load.dtype), pack,
      whole_word(at.index).empty() ? "some" : "whole", pointer(load.buffer, at.index),
      chunk_->live.empty() && whole_word(at.index).empty() ? ", all_lanes" : live_argument()));
  define(load.name, load.dtype, lanes_of(load.dtype), true, [&](const std::string&) {
    return fmt::format("lanes_{}({})", dtype_name(load.dtype), pack);
  });
  values_.at(load.name).pack = pack;
  if (load.dtype == DType::bf16) values_.at(load.name).pairs = pack;
}

// An integer that is the same for all lanes and stands in subscripts is a plain `long`.
void Emitter::emit_subscript_load(const Load& load) {
  std::string at = fmt::format("{}[{}]", buffers_.at(load.buffer), subscript(load.index));
  if (!load.guards.empty()) {
    at = fmt::format("{} ? {} : {}", condition(load.guards), at,
                     stored_text(load.otherwise, load.dtype));
  }
  EmittedValue value;
  value.dtype = load.dtype;
  value.lanes = lanes_of(load.dtype);
  value.subscript = names_.unique(load.name);
  line(fmt::format("const long {} = {};", value.subscript, at));
  if (uses_.contains(load.name)) {
    value.name = names_.unique(load.name + "_lanes");
    std::string scalar = is_wide(value.lanes) ? value.subscript : "(int)" + value.subscript;
    line(fmt::format("const {} {} = {};", vector_type(value.lanes), value.name,
                     splat_text(scalar, value.lanes)));
  }
  values_[load.name] = std::move(value);
}

// On a GPU other threads are what hides the way from memory.
void Emitter::emit(const Prefetch& hint) {
  if (target_.cuda) return;
  const int64_t bytes = byte_size(buffer_dtypes_.at(hint.buffer));
  const LaneAccess at = access(hint.index);
  const bool rows = differs_by_row(hint.index);
  const int64_t columns = at.kind == LaneAccess::uniform      ? 1
                          : chunk_ && !chunk_->across.empty() ? across_columns
                                                              : target_.lanes;
  const int64_t lines = std::max<int64_t>(columns * bytes / cache_line / hint.share, 1);
  const std::string what = hint.level == 1 ? fmt::to_string(lines) : fmt::format("{}, 2", lines);
  if (rows) {
    return line(
        fmt::format("prefetch_rows<{}>({});", what, rows_arguments(hint.buffer, hint.index)));
  }
  if (hint.share > 1 && chunk_ && at.kind == LaneAccess::contiguous) {
    const Sym first = at.index.substitute({{chunk_->ir_var, Sym(0)}}, ranges_);
    return line(fmt::format("prefetch_lines<{}>({} + {} / {});", what, pointer(hint.buffer, first),
                            chunk_->var, hint.share));
  }
  line(fmt::format("prefetch_lines<{}>({});", what, pointer(hint.buffer, at.index)));
}

std::string Emitter::load_text(const Load& load) {
  std::string_view name = dtype_name(load.dtype);
  const bool fetched = fetched_.contains(load.buffer) && !by_lane(load);
  if (is_thread_row(load.buffer) || fetched) return kept_text(load);
  if (tiles_.contains(load.buffer)) return tile_text(load);
  LaneAccess at = access(load.index);
  if (differs_by_row(load.index)) {
    return fmt::format("{}_{}({})", at.kind == LaneAccess::uniform ? "each_row" : "load_rows", name,
                       rows_arguments(load.buffer, load.index));
  }
  if (chunk_ && !chunk_->across.empty() && at.kind == LaneAccess::contiguous) {
    return fmt::format("repeat_row_{}({})", name, pointer(load.buffer, at.index));
  }
  std::string holds = load.guards.empty() ? "" : condition(load.guards);
  if (at.kind == LaneAccess::uniform) {
    std::string element = fmt::format("{}[{}]", buffers_.at(load.buffer), subscript(at.index));
    if (!holds.empty()) {
      element =
          fmt::format("{} ? {} : {}", holds, element, stored_text(load.otherwise, load.dtype));
    }
    bool plain = load.dtype == compute_dtype(load.dtype) && load.dtype != DType::boolean;
    return fmt::format("{}_{}({})", plain ? "splat" : "broadcast", name, element);
  }
  std::string text = fmt::format("load_{}{}({}{})", whole_word(at.index), name,
                                 pointer(load.buffer, at.index), live_argument());
  if (holds.empty()) return text;
  return fmt::format("{} ? {} : {}", holds, text,
                     operand_text(Operand(load.otherwise), load.dtype, true));
}

bool Emitter::by_lane(const Load& load) const {
  return access(load.index).kind == LaneAccess::lanes || differs_by_lane(load.guards);
}

std::string Emitter::gather_text(DType dtype, const std::string& name) const {
  return fmt::format("gather_{}({}_at{})", dtype_name(dtype), name, live_argument());
}

// Writes the lambda name_at, which gives the element (or the place) of a lane.
void Emitter::lane_function(const std::string& name, std::string_view result,
                            const std::vector<std::string>& body) {
  std::string head =
      fmt::format("const auto {}_at = [&](long l) ALWAYS_INLINE -> {} {{", name, result);
  std::string joined = fmt::format("{} {} }};", head, join(body, " "));
  if (2 * depth_ + joined.size() <= line_width) return line(joined);
  open(head);
  for (const std::string& text : body) line(text);
  close("};");
}

std::string Emitter::lane_load(const Load& load, const std::string& name) {
  std::string element =
      fmt::format("{}[{}]", buffers_.at(load.buffer), subscript(lane_index(load.index)));
  std::string otherwise = stored_text(load.otherwise, load.dtype);
  std::vector<std::string> body;
  if (load.guards.empty()) {
    body.push_back(fmt::format("return {};", element));
  } else if (load.report >= 0) {
    body.push_back(fmt::format("if ({}) return {};", lane_condition(load.guards), element));
    body.push_back(raised(load));
    body.push_back(fmt::format("return {};", otherwise));
  } else {
    body.push_back(
        fmt::format("return {} ? {} : {};", lane_condition(load.guards), element, otherwise));
  }
  lane_function(name, storage_type(load.dtype), body);
  std::string by_lanes = gather_text(load.dtype, name);
  LaneAccess at = access(load.index);
  if (at.kind != LaneAccess::contiguous || !follows_lanes(load.guards)) return by_lanes;
  // Where all lanes are inside, as most are of a pad or a concat.
  return fmt::format("{} ? load_{}({}{}) : {}", all_lanes_condition(load.guards),
                     dtype_name(load.dtype), pointer(load.buffer, at.index), live_argument(),
                     by_lanes);
}

void Emitter::emit(const Store& store) {
  DType dtype = buffer_dtypes_.at(store.buffer);
  std::string_view name = dtype_name(dtype);
  std::string text = operand_text(store.value, dtype, true);
  if (dtype == DType::boolean) text = as_lanes(text, operand_lanes(store.value, dtype), Lanes::m32);
  if (is_thread_row(store.buffer)) {
    const auto* value_name = std::get_if<std::string>(&store.value);
    const std::string& pack = value_name != nullptr ? value(*value_name).pack : text;
    return line(fmt::format(
        "{} = {};", thread_row(store.buffer, store.index),
        value_name != nullptr && !pack.empty() ? pack : fmt::format("pack_{}({})", name, text)));
  }
  LaneAccess at = access(store.index);
  if (chunk_ && at.kind != LaneAccess::contiguous) {
    std::string function = names_.unique(buffers_.at(store.buffer) + "_place");
    lane_function(function, fmt::format("{}*", storage_type(dtype)),
                  {fmt::format("return {};", pointer(store.buffer, lane_index(store.index)))});
    return line(fmt::format("{}scatter_{}({}_at, {}{});", unless_repeated(), name, function, text,
                            live_argument()));
  }
  if (chunk_) return store_vector(store, text, at);
  const bool shared = shared_rows_.contains(store.buffer);
  if (shared && target_.blocks > 1) {
    return line(fmt::format("share_part<{}>({}, first_lane({}));", target_.blocks,
                            pointer(store.buffer, at.index), text));
  }
  const bool each_warp = target_.warps <= 1 || shared;
  const std::string_view once = !target_.cuda         ? ""
                                : each_warp           ? "if (thread == 0) "
                                : target_.blocks == 1 ? "if (threadIdx.x == 0) "
                                                      : "if (warp == 0 && thread == 0) ";
  line(fmt::format("{}{}store_{}({}, {}, 1);", unless_repeated(), once, name,
                   pointer(store.buffer, at.index), text));
}

void Emitter::store_vector(const Store& store, const std::string& text, const LaneAccess& at) {
  DType dtype = buffer_dtypes_.at(store.buffer);
  std::string_view name = dtype_name(dtype);
  const bool rows = differs_by_row(store.index);
  const std::string place =
      rows ? rows_arguments(store.buffer, store.index) : pointer(store.buffer, at.index);
  const std::string_view form = rows ? "rows_" : "";
  const std::string stored =
      fmt::format("{}store_{}{}{}({}, {}{});", unless_repeated(), rows ? "" : whole_word(at.index),
                  form, name, place, text, live_argument());
  const bool parameter = std::ranges::any_of(
      kernel_.params, [&](const Param& param) { return param.name == store.buffer; });
  const bool alone = parameter && !rows && !loaded_.contains(store.buffer);
  if (stores_whole_ && alone && !whole_word(at.index).empty()) {
    return line(
        fmt::format("{}store_words({}, pack_{}({}));", unless_repeated(), place, name, text));
  }
  if (store.mode != StoreMode::streaming || !can_stream(dtype, rows) || target_.cuda)
    return line(stored);
  streams_ = true;
  // Rows of unknown length: some may start off a line, or end in a chunk.
  std::vector<std::string> conditions;
  if (!chunk_->live.empty()) conditions.push_back(chunk_->live + " == all_lanes");
  if (rows ? rows_aligned(store.index) : aligned(store.index)) {
    source_.needs_alignment = true;
  } else {
    conditions.push_back(fmt::format("{}({})", rows ? "rows_on_line" : "on_line", place));
  }
  const std::string streamed = fmt::format("stream_{}{}({}, {});", form, name, place, text);
  if (conditions.empty()) return line(streamed);
  line(fmt::format("if ({})", join(conditions, " && ")));
  line("  " + streamed);
  line("else");
  line("  " + stored);
}

std::string Emitter::unless_repeated() const {
  return repeats_.empty() ? "" : fmt::format("if (!{}) ", repeats_);
}

// "whole_" where all lanes are there and a CUDA thread can take them in accesses of 16 bytes.
std::string_view Emitter::whole_word(const Sym& index) const {
  if (!target_.cuda || !chunk_ || !chunk_->live.empty()) return "";
  return chunk_->whole_packs || aligned(index) ? "whole_" : "";
}

std::string Emitter::live_argument() const {
  return chunk_ && !chunk_->live.empty() ? ", " + chunk_->live : "";
}

std::string Emitter::pointer(const std::string& buffer, const Sym& index) const {
  std::string base = buffers_.at(buffer);
  std::string text = subscript(index);
  if (chunk_) {
    auto [fixed, moving] = split(index);
    auto row = rows_.find(fmt::format("{} + {}", base, subscript(fixed)));
    if (row != rows_.end()) {
      base = row->second;
      text = subscript(moving);
    }
  }
  return text == "0" ? base : fmt::format("{} + {}", base, text);
}

}  // namespace ingot
