// How the threads of a CUDA block share loops: chunks of vector loops, rows that stay in registers,
// spread loops with a warp an iteration.
#include <algorithm>

#include "base/cuda_threads.h"
#include "emit/cpp_emitter.h"

namespace ingot {

using namespace loop;

std::optional<int64_t> longest_loop(const Sym& extent) {
  if (extent.constant()) return extent.constant();
  if (extent.terms().size() != 1 || extent.terms()[0].atoms.size() != 1) return std::nullopt;
  const Sym::Atom& atom = *extent.terms()[0].atoms[0];
  if (extent.terms()[0].factor != 1 || extent.constant_part() != 0) return std::nullopt;
  if (atom.kind != Sym::Atom::Kind::min) return std::nullopt;
  std::optional<int64_t> a = longest_loop(atom.left), b = longest_loop(atom.right);
  return a && b ? std::min(*a, *b) : a ? a : b;
}

int64_t arithmetic(const Loop& loop) {
  return std::ranges::count_if(loop.body,
                               [](const Stmt& stmt) { return std::holds_alternative<Let>(stmt); });
}

namespace {

constexpr int64_t unrolled_chunks = 8;  // of loops that keep nothing in registers
// Of rows over several warps that are not kept. Without a number the compiler may spill to use
// fewer.
constexpr int64_t plain_registers = 64;
constexpr int64_t most_parts = 1024;     // of a row, in shared memory
constexpr int64_t few_parts = 64;        // one or two for each thread of a warp
constexpr int64_t bytes_together = 128;  // that a thread has on its way

// Calls `visit` on every vector loop, with the loops around it.
template <class F>
void each_vector_loop(const std::vector<Stmt>& body, const F& visit) {
  for (const Stmt& stmt : body) {
    const auto* inner = std::get_if<std::shared_ptr<Loop>>(&stmt);
    if (inner == nullptr) continue;
    if ((*inner)->kind == LoopKind::vector) {
      visit(**inner);
    } else {
      each_vector_loop((*inner)->body, visit);
    }
  }
}

template <class F>
void each_buffer(const std::vector<Stmt>& body, const F& visit) {
  for (const Stmt& stmt : body) {
    if (const auto* load = std::get_if<Load>(&stmt)) visit(load->buffer);
    if (const auto* store = std::get_if<Store>(&stmt)) visit(store->buffer);
    if (const auto* inner = std::get_if<std::shared_ptr<Loop>>(&stmt)) {
      each_buffer((*inner)->body, visit);
    }
  }
}

template <class F>
void each_fetch(const std::vector<Stmt>& body, const F& visit) {
  for (const Stmt& stmt : body) {
    if (const auto* fetch = std::get_if<Fetch>(&stmt)) visit(*fetch);
    if (const auto* inner = std::get_if<std::shared_ptr<Loop>>(&stmt)) {
      each_fetch((*inner)->body, visit);
    }
  }
}

bool computes_much(const std::vector<Stmt>& body) {
  return std::ranges::any_of(body, [](const Stmt& stmt) {
    const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt);
    return loop != nullptr &&
           (arithmetic(**loop) > much_arithmetic || computes_much((*loop)->body));
  });
}

// Chunks of a long loop that are loaded before the first is used; few where each is much work,
// which takes registers too.
int64_t chunks_together(const Loop& loop, const Target& target) {
  constexpr int64_t little = 4, few = 4, many = 16;
  int64_t bytes = 0;
  const int64_t work = arithmetic(loop);
  for (const Stmt& stmt : loop.body) {
    const auto* load = std::get_if<Load>(&stmt);
    if (load != nullptr && load->index.uses(loop.var)) bytes += byte_size(load->dtype);
  }
  // Twice as many where a warp has its iteration to itself and as many registers as it takes.
  const int64_t together = target.warps == 1 ? 2 * bytes_together : bytes_together;
  const int64_t loads = together / std::max<int64_t>(bytes * target.lanes, 1);
  return std::clamp<int64_t>(loads, 2, work > little ? few : many);
}

// Whether a thread, of a warp with more than 64 lanes, has one pack of each row or none.
bool one_pack_a_thread(const std::vector<Stmt>& body, const Target& target) {
  const int64_t together = target.lanes * target.threads();
  return together > vector_lanes && std::ranges::all_of(body, [&](const Stmt& stmt) {
           const auto* found = std::get_if<std::shared_ptr<Loop>>(&stmt);
           if (found == nullptr) return true;
           const Loop& loop = **found;
           const int64_t most = loop.kind == LoopKind::spread ? target.warps : together;
           return (loop.kind == LoopKind::serial ||
                   longest_loop(loop.extent).value_or(most + 1) <= most) &&
                  one_pack_a_thread(loop.body, target);
         });
}

// Whether iterations only make numbers of what stands in memory and add them to totals.
bool only_combines(const Loop& loop) {
  return std::ranges::all_of(loop.body, [](const Stmt& stmt) {
    const auto* load = std::get_if<Load>(&stmt);
    const auto* let = std::get_if<Let>(&stmt);
    const auto* accumulate = std::get_if<Accumulate>(&stmt);
    return (load != nullptr && load->guards.empty()) ||
           (let != nullptr && let->dtype == DType::f32) ||
           (accumulate != nullptr && accumulate->lane.has_value());
  });
}

// As which a part of a total stands in shared memory.
DType part_dtype(const EmittedValue& total) {
  return total.lanes == Lanes::m32 ? DType::i32 : total.dtype;
}

}  // namespace

// "<32>" where a reduction has more lanes than usual.
std::string Emitter::team_argument() const {
  const bool usual = target_.threads() * target_.lanes == vector_lanes;
  return !target_.cuda || usual ? "" : fmt::format("<{}>", target_.threads());
}

bool Emitter::is_thread_row(const std::string& buffer) const {
  return target_.cuda && !tiles_.contains(buffer) && !shared_rows_.contains(buffer) &&
         !fetched_.contains(buffer) &&
         std::ranges::any_of(kernel_.scratch,
                             [&](const Scratch& scratch) { return scratch.name == buffer; });
}

// A row of scratch is kept by the threads that compute it, each chunk in registers of its own.
std::map<std::string, int64_t> Emitter::thread_row_chunks(const Phase& phase) const {
  std::map<std::string, int64_t> elements;
  each_vector_loop(phase.body, [&](const Loop& loop) {
    each_buffer(loop.body, [&](const std::string& buffer) {
      if (!is_thread_row(buffer)) return;
      std::optional<int64_t> most = longest_loop(loop.extent);
      INGOT_CHECK(most, "kernel {}: row '{}' has no fixed length", kernel_.name, buffer);
      elements[buffer] = std::max(elements[buffer], *most);
    });
  });
  const int64_t chunk = target_.lanes * target_.threads();
  for (auto& [buffer, count] : elements) count = (count + chunk - 1) / chunk;
  return elements;
}

void Emitter::declare_thread_rows(const Phase& phase) {
  for (const auto& [buffer, chunks] : thread_row_chunks(phase)) {
    buffers_[buffer] = names_.unique(buffer);
    line(fmt::format("Pack<{}> {}[{}];", storage_type(buffer_dtypes_.at(buffer)), buffers_[buffer],
                     chunks));
  }
  // Of a fetched row: the first pass leaves it in registers, and the compiler what is made of it,
  // as far as there are some.
  if (fetched_.empty() || !one_pack_a_thread(phase.body, target_)) return;
  for (const std::string& buffer : fetched_) {
    packs_now_[buffer].name = names_.unique(buffer + "_pack");
    line(fmt::format("Pack<{}> {};", storage_type(buffer_dtypes_.at(buffer)),
                     packs_now_[buffer].name));
  }
}

void Emitter::emit(const Fetch& fetch) {
  INGOT_CHECK(target_.cuda && target_.threads() == cuda::warp,
              "kernel {}: fetches for a GPU's warps", kernel_.name);
  const std::optional<int64_t> most = longest_loop(fetch.count);
  INGOT_CHECK(most, "kernel {}: {} elements are fetched", kernel_.name, fetch.count.text());
  call_line(fmt::format("fetch_row<{}>", *most),
            {pointer(fetch.dst, fetch.dst_index), pointer(fetch.src, fetch.src_index),
             subscript(fetch.count), "thread"});
}

void Emitter::emit(const Await& await) { line(fmt::format("await_rows<{}>();", await.left)); }

// Bytes of rows that a thread keeps from one loop to the next, where these are most.
int64_t Emitter::kept_bytes(const Phase& phase) const {
  struct Use {
    int first, last;
    bool carried;  // from one iteration of the loops around to the next
  };
  std::map<std::string, Use> uses;
  int loops = 0;
  each_vector_loop(phase.body, [&](const Loop& loop) {
    for (const Stmt& stmt : loop.body) {
      const auto* load = std::get_if<Load>(&stmt);
      const auto* store = std::get_if<Store>(&stmt);
      if (load == nullptr && store == nullptr) continue;
      const std::string& buffer = load != nullptr ? load->buffer : store->buffer;
      uses.try_emplace(buffer, loops, loops, load != nullptr).first->second.last = loops;
    }
    loops++;
  });
  int64_t most = 0;
  for (int loop = 0; loop < loops; loop++) {
    int64_t bytes = 0;
    for (const auto& [buffer, chunks] : thread_row_chunks(phase)) {
      const Use& use = uses.at(buffer);
      const bool live = use.carried || (use.first <= loop && loop < use.last);
      bytes += live ? chunks * target_.lanes * byte_size(buffer_dtypes_.at(buffer)) : 0;
    }
    most = std::max(most, bytes);
  }
  return most;
}

// A compiler that is free to do so unpacks a row of halves once and keeps it in twice the
// registers.
std::string Emitter::launch_bounds(const Phase& phase) const {
  auto bounds = [&](int64_t wanted) {
    const int64_t registers = std::min<int64_t>(wanted, cuda::most_registers);
    const int64_t blocks =
        std::clamp<int64_t>(cuda::register_file / registers / target_.block, 1, cuda::most_blocks);
    return fmt::format("__launch_bounds__({}, {})", target_.block, blocks);
  };
  if (kernel_.most_registers > 0) return bounds(kernel_.most_registers);
  if (kernel_.all_registers) return fmt::format("__launch_bounds__({}, 1)", target_.block);
  const int64_t bytes = kept_bytes(phase);
  const bool plain = target_.warps <= 1 || !tiles_.empty();
  const bool matrices = !tiles_.empty() && matrices_;
  const bool capped = target_.warps == 0 && target_.lanes > cuda::column_lanes &&
                      sums_columns(phase.body) && computes_much(phase.body);
  if (bytes == 0 && plain && !capped && !matrices) {
    return fmt::format("__launch_bounds__({})", target_.block);
  }
  constexpr int64_t of_matrices = 32;  // one more is a quarter of the threads less
  if (bytes == 0) return bounds(matrices ? of_matrices : plain_registers);
  // Besides what is on its way from each buffer but the first; a vector that all rows read is near.
  constexpr int64_t of_row = 32, of_vector = 16;
  int64_t streams = 0;
  each_vector_loop(phase.body, [&](const Loop& loop) {
    const bool fills = std::ranges::any_of(loop.body, [&](const Stmt& stmt) {
      const auto* store = std::get_if<Store>(&stmt);
      return store != nullptr && is_thread_row(store->buffer);
    });
    if (!fills) return;
    int64_t on_their_way = 0;
    for (const Stmt& stmt : loop.body) {
      const auto* load = std::get_if<Load>(&stmt);
      if (load == nullptr || !load->index.uses(loop.var) || is_thread_row(load->buffer)) continue;
      const bool row = load->index.uses(phase.var) || fetched_.contains(load->buffer);
      on_their_way += row ? of_row : of_vector;
    }
    streams = std::max(streams, on_their_way - of_row);
  });
  // A warp's accesses of 8 elements need no more than those of 2: they are fewer.
  const bool usual = target_.threads() * target_.lanes == vector_lanes;
  if (!usual && !fetched_.empty()) return bounds(bytes / 4 + cuda::band_registers);
  constexpr int64_t few_kept = 8;  // short rows: another row is worth more than free registers
  const int lanes = !usual                  ? 16 / target_.lanes
                    : bytes / 4 <= few_kept ? cuda::row_lanes
                                            : target_.lanes;
  return bounds(bytes / 4 + cuda::other_registers(lanes) + streams);
}

std::string Emitter::thread_row(const std::string& buffer, const Sym& index) const {
  INGOT_CHECK(chunk_ && !chunk_->step.empty() && access(index).kind == LaneAccess::contiguous,
              "kernel {}: row '{}' at {}", kernel_.name, buffer, index.text());
  return fmt::format("{}[{}]", buffers_.at(buffer), chunk_->step);
}

bool Emitter::keeps_rows(const Loop& loop) const {
  bool keeps = false;
  each_buffer(loop.body, [&](const std::string& buffer) { keeps |= is_thread_row(buffer); });
  return keeps;
}

// Of a loop whose chunks each thread has in registers: the length of all blocks but the last.
std::optional<Sym> Emitter::usual_length(const Loop& loop) const {
  std::optional<int64_t> most = longest_loop(loop.extent);
  if (!target_.cuda || loop.extent.constant() || !most || !keeps_rows(loop)) return std::nullopt;
  return *most % (target_.lanes * target_.threads()) == 0 ? std::optional<Sym>(*most)
                                                          : std::nullopt;
}

// The chunks of a vector loop that are this thread's. Unrolled where that is few, or where they are
// in registers, which have no subscripts.
void Emitter::open_thread_chunks(const Loop& loop, Chunk& chunk, const std::string& extent,
                                 bool whole) {
  const int64_t lanes = target_.lanes, together = lanes * target_.threads();
  const bool keeps = keeps_rows(loop);
  std::optional<int64_t> most = longest_loop(loop.extent);
  const int64_t steps = most ? (*most + together - 1) / together : 0;
  const bool exact = loop.extent.constant() && *loop.extent.constant() % together == 0;
  if (!most || (steps > unrolled_chunks && !keeps)) {
    bool fetched = false;  // then few warps are there to hide what one waits for
    each_buffer(loop.body, [&](const std::string& name) { fetched |= fetched_.contains(name); });
    const int64_t unrolled = fetched ? unrolled_chunks : chunks_together(loop, target_);
    if (whole) line(fmt::format("#pragma unroll {}", unrolled));
    open(fmt::format("for (long {0} = {1} * thread; {0} < {2}; {0} += {3}) {{", chunk.var, lanes,
                     extent, together));
    return;
  }
  if (steps == 1) {
    chunk.step = "0";
    open("{");
    line(fmt::format("const long {} = {} * thread;", chunk.var, lanes));
  } else {
    chunk.step = names_.unique("step");
    constexpr size_t long_body = 16;  // of which more at once fill the instruction cache
    line(loop.body.size() < long_body || keeps ? "#pragma unroll" : "#pragma unroll 2");
    open(fmt::format("for (int {0} = 0; {0} < {1}; {0}++) {{", chunk.step, steps));
    line(fmt::format("const long {} = {} * thread + {} * {};", chunk.var, lanes, together,
                     chunk.step));
  }
  if (!whole || exact) return;
  chunk.conditional = true;
  open(fmt::format("if ({} < {}) {{", chunk.var, extent));
}

// What each iteration of a spread loop leaves for the loops behind it stands in shared memory.
void Emitter::note_shared_rows(const Loop& loop) {
  if (loop.kind != LoopKind::spread) return;
  for (const Stmt& stmt : loop.body) {
    const auto* store = std::get_if<Store>(&stmt);
    if (store == nullptr || !is_thread_row(store->buffer)) continue;
    INGOT_CHECK(target_.warps > 1, "kernel {}: '{}' is shared by one warp", kernel_.name,
                store->buffer);
    shared_rows_.insert(store->buffer);
  }
}

// The extremes of a row of bf16 that goes into registers: two at a time, before they are widened.
void Emitter::note_pairs(const Phase& phase) {
  std::map<std::string, int> others;  // accumulates of anything else
  each_vector_loop(phase.body, [&](const Loop& loop) {
    std::set<std::string> stored, narrow;
    for (const Stmt& stmt : loop.body) {
      const auto* store = std::get_if<Store>(&stmt);
      if (store == nullptr || !is_thread_row(store->buffer)) continue;
      if (const auto* name = std::get_if<std::string>(&store->value)) stored.insert(*name);
    }
    for (const Stmt& stmt : loop.body) {
      const auto* load = std::get_if<Load>(&stmt);
      const bool kept = load != nullptr && load->dtype == DType::bf16 && load->guards.empty();
      if (kept && stored.contains(load->name)) narrow.insert(load->name);
      const auto* let = std::get_if<Let>(&stmt);
      const bool widens = let != nullptr && let->op == Op::cast && let->dtype == DType::f32;
      const auto* from = widens ? std::get_if<std::string>(&let->operands[0]) : nullptr;
      if (from != nullptr && narrow.contains(*from)) narrow.insert(let->name);
      const auto* accumulate = std::get_if<Accumulate>(&stmt);
      if (accumulate == nullptr) continue;
      const auto* value = std::get_if<std::string>(&accumulate->value);
      const bool fits = value != nullptr && narrow.contains(*value);
      if (fits) in_pairs_.insert(accumulate->accumulator);
      if (!fits) others[accumulate->accumulator]++;
    }
  });
  std::erase_if(in_pairs_, [&](const std::string& name) { return others.contains(name); });
}

// Rows that are fetched follow one another in the block's dynamic memory.
void Emitter::declare_shared_rows(const Phase& phase) {
  std::set<std::string> here;
  each_fetch(phase.body, [&](const Fetch& fetch) { here.insert(fetch.dst); });
  INGOT_CHECK(here.empty() || target_.team == target_.block,
              "kernel {}: several teams of a block fetch rows", kernel_.name);
  const std::string fetched = here.empty() ? "" : names_.unique("fetched");
  if (!here.empty()) line(fmt::format("extern __shared__ __align__(16) char {}[];", fetched));
  int64_t& offset = source_.phases.back().shared_bytes;
  for (const Scratch& scratch : kernel_.scratch) {
    if (!shared_rows_.contains(scratch.name) && !here.contains(scratch.name)) continue;
    const std::optional<int64_t> elements = scratch.elements.constant();
    INGOT_CHECK(elements, "kernel {}: shared '{}' has no fixed length", kernel_.name, scratch.name);
    const std::string name = buffers_[scratch.name] = names_.unique(scratch.name);
    const std::string_view type = storage_type(scratch.dtype);
    if (!here.contains(scratch.name)) {
      line(fmt::format("__shared__ __align__(16) {} {}[{}];", type, name, *elements));
      continue;
    }
    line(fmt::format("{0}* const {1} = ({0}*){2};", type, name,
                     offset == 0 ? fetched : fmt::format("({} + {})", fetched, offset)));
    offset += (*elements * byte_size(scratch.dtype) + 15) / 16 * 16;
  }
}

// The parts at `place` and on, of which there are `rest`, into the lanes of each total; by every
// warp for itself.
void Emitter::combine_parts(const Texts& totals, const std::string& place,
                            const std::string& rest) {
  const std::string at = names_.unique("part"), live = names_.unique("parts");
  line(fmt::format("const long {} = {};", at, place));
  line(fmt::format("const Live {} = first_lanes({} - {});", live, rest, at));
  for (const std::string& total : totals) {
    const EmittedValue& acc = accumulators_.at(total);
    const std::string part = names_.unique(total + "_part");
    line(fmt::format("const {} {} = load_{}({} + {}, {});", vector_type(acc.lanes), part,
                     dtype_name(part_dtype(acc)), parts_.at(total), at, live));
    line(fmt::format("{} = where({}, {}, {});", acc.name, live,
                     combine_text(acc.reduction, acc.dtype, acc.name, part), acc.name));
    parts_.erase(total);
  }
}

// All parts of a row, a few for each thread of a warp.
void Emitter::fold_parts(const Texts& totals, int64_t count, bool in_lanes) {
  for (const std::string& total : totals) {
    EmittedValue& acc = accumulators_.at(total);
    const DType dtype = part_dtype(acc);
    const bool usual = target_.threads() * target_.lanes == vector_lanes;
    const std::string own = usual ? "" : fmt::format("<{}>", target_.lanes);
    const std::string identity =
        literal_text(accumulator_identity(acc.reduction, acc.dtype), dtype);
    const std::string& parts = parts_.at(total);
    const std::string folded =
        in_lanes ? fmt::format("fold_{}{}({}[0], {}[1], {})", op_name(acc.reduction), own, parts,
                               parts, count)
                 : fmt::format("parts_{}{}({}, {}, ({}){})", op_name(acc.reduction), own, parts,
                               count, storage_type(dtype), identity);
    line(fmt::format("{} = {};", acc.name, splat_text(folded, acc.lanes)));
    acc.folded = true;
    parts_.erase(total);
  }
}

// All parts of a row, or those of the warps' last `round`.
void Emitter::combine_totals(const Texts& totals, const std::string& extent,
                             const std::string& round, std::optional<int64_t> count) {
  const std::string lane = fmt::format("{} * thread", target_.lanes);
  const int64_t lanes = target_.lanes * target_.threads();
  const bool masks = std::ranges::any_of(totals, [&](const std::string& total) {
    return accumulators_.at(total).lanes == Lanes::m32;
  });
  if (count && *count <= few_parts && !masks) return fold_parts(totals, *count, false);
  if (!count) {
    open("{");
    combine_parts(totals, fmt::format("({} - {}) & {}", lane, round, lanes - 1),
                  fmt::format("min({} - {}, {}L)", extent, round, target_.warps));
  } else if (*count <= lanes) {
    open("{");
    combine_parts(totals, lane, extent);
  } else {
    const std::string first = names_.unique("first");
    open(fmt::format("for (long {0} = 0; {0} < {1}; {0} += {2}) {{", first, extent, lanes));
    combine_parts(totals, fmt::format("{} + {}", first, lane), extent);
  }
  close();
  if (!count) line(std::string(target_.barrier()));
}

// Iterations of few statements on what other warps left, all of them in the threads of each warp:
// no barrier then.
void Emitter::spread_over_lanes(const Loop& loop, const Texts& totals) {
  const int64_t count = *loop.extent.constant();
  const int64_t turns = (count + cuda::warp - 1) / cuda::warp;
  for (const std::string& total : totals) {
    const EmittedValue& acc = accumulators_.at(total);
    parts_[total] = names_.unique(total + "_parts");
    const std::string identity =
        literal_text(accumulator_identity(acc.reduction, acc.dtype), acc.dtype);
    line(fmt::format("{} {}[2] = {{{}, {}}};", storage_type(acc.dtype), parts_[total], identity,
                     identity));
  }
  names_.open();
  const std::string var = variables_[loop.var] = names_.unique(loop.var);
  part_place_ = names_.unique("turn");
  parts_in_lanes_ = true;
  line("#pragma unroll");
  open(fmt::format("for (int {0} = 0; {0} < {1}; {0}++) {{", part_place_, turns));
  line(fmt::format("const long {} = thread + {} * {};", var, cuda::warp, part_place_));
  if (count % cuda::warp != 0) open(fmt::format("if ({} < {}) {{", var, count));
  statements(loop.body);
  if (count % cuda::warp != 0) close();
  close();
  parts_in_lanes_ = false;
  names_.close();
  fold_parts(totals, count, true);
}

// Every warp runs one iteration at a time and leaves its parts of the sums in shared memory: all of
// them, where their number is known and small, else those of one round.
void Emitter::spread_loop(const Loop& loop) {
  std::vector<std::string> totals;
  bool shares = false;
  for (const Stmt& stmt : loop.body) {
    const auto* store = std::get_if<Store>(&stmt);
    shares |= store != nullptr && shared_rows_.contains(store->buffer);
    const auto* accumulate = std::get_if<Accumulate>(&stmt);
    if (accumulate == nullptr || !accumulators_.contains(accumulate->accumulator)) continue;
    if (accumulate->lane) totals.push_back(accumulate->accumulator);
  }
  ranges_.insert_or_assign(loop.var, loop.extent);
  std::optional<int64_t> count = loop.extent.constant();
  if (count && *count <= few_parts && serial_.empty() && only_combines(loop)) {
    return spread_over_lanes(loop, totals);
  }
  const std::string extent = extent_name(loop.var, loop.extent);
  const bool once = count && *count <= target_.warps;
  const bool all = count && *count % target_.warps == 0;
  const bool unrolled = all && *count <= unrolled_chunks * target_.warps;
  if (count && *count > most_parts) count.reset();
  // In a loop two turns of parts, so that a warp that is ahead does not overwrite what others still
  // read: it waits for them before the turn after the next.
  const bool turns = serial_.size() == 1;
  for (const std::string& total : totals) {
    parts_[total] = names_.unique(total + "_parts");
    line(fmt::format("__shared__ {} {}{}[{}];", storage_type(part_dtype(accumulators_.at(total))),
                     parts_[total], turns ? "[2]" : "", count.value_or(target_.warps)));
    if (turns) parts_[total] += fmt::format("[{} & 1]", serial_[0]);
  }
  names_.open();
  const std::string round = once ? "" : names_.unique("round");
  const std::string var = names_.unique(loop.var);
  if (!once) {
    if (unrolled) line("#pragma unroll");
    open(fmt::format("for (long {0} = 0; {0} < {1}; {0} += {2}) {{", round, extent, target_.warps));
  }
  open(all ? "{" : fmt::format("if ({}warp < {}) {{", once ? "" : round + " + ", extent));
  line(fmt::format("const long {} = {}warp;", var, once ? "" : round + " + "));
  variables_[loop.var] = var;
  part_place_ = count ? var : "warp";
  statements(loop.body);
  close();
  if (!once && count) close();
  if (shares || !totals.empty()) line(std::string(target_.barrier()));
  if (!totals.empty()) combine_totals(totals, extent, round, count);
  if (count && serial_.size() > 1 && !totals.empty()) line(std::string(target_.barrier()));
  if (!once && !count) close();
  names_.close();
}

}  // namespace ingot
