// Kernels and phases. A phase becomes one function over a range of its iterations.
#include "emit/cpp_emitter.h"

#include <algorithm>

#include "base/cuda_threads.h"
#include "device/library.h"

namespace ingot {
namespace {

using namespace loop;

// Calls `visit` on every statement, outer ones first.
template <class F>
void walk(const std::vector<Stmt>& body, F& visit) {
  for (const Stmt& stmt : body) {
    visit(stmt);
    if (const auto* inner = std::get_if<std::shared_ptr<Loop>>(&stmt)) walk((*inner)->body, visit);
  }
}

// What a phase mentions: buffers, variables of subscripts, and how each value is used.
struct Uses {
  std::set<std::string> rows;  // scratch, which CUDA threads keep in registers
  std::set<std::string> buffers, written, variables;
  std::map<std::string, std::set<std::string>> values;
  std::vector<std::shared_ptr<const Sym::Atom>> quotients;  // inner ones first, repeated

  void sym(const Sym& s) {
    variables.merge(s.variables());
    find_quotients(s);
  }
  void find_quotients(const Sym& s) {
    for (const Sym::Term& term : s.terms()) {
      for (const auto& atom : term.atoms) {
        if (atom->kind == Sym::Atom::Kind::variable) continue;
        find_quotients(atom->left);
        find_quotients(atom->right);
        if (atom->kind != Sym::Atom::Kind::min) quotients.push_back(atom);
      }
    }
  }
  void guards(const std::vector<Guard>& guards) {
    for (const Guard& guard : guards) {
      sym(guard.value);
      sym(guard.lo);
      sym(guard.hi);
    }
  }
  void operand(const Operand& operand, const std::string& use) {
    if (const auto* name = std::get_if<std::string>(&operand)) values[*name].insert(use);
  }
  void operator()(const Stmt& stmt) {
    std::visit([this](const auto& s) { note(s); }, stmt);
  }
  void note(const Let& let) {
    for (const Operand& o : let.operands) operand(o, "other");
  }
  void note(const Load& load) {
    buffers.insert(load.buffer);
    sym(load.index);
    guards(load.guards);
    sym(load.reported);
  }
  void note(const IndexValue& index) {
    sym(index.value);
    guards(index.guards);
    sym(index.reported);
  }
  void note(const Accumulator& acc) {
    if (!acc.from.empty()) operand(acc.from, "other");
  }
  void note(const Accumulate& accumulate) {
    operand(accumulate.value, "other");
    if (accumulate.lane) sym(*accumulate.lane);
  }
  void note(const Finish&) {}
  void note(const Store& store) {
    buffers.insert(store.buffer);
    written.insert(store.buffer);
    sym(store.index);
    operand(store.value, rows.contains(store.buffer) ? "row" : "store");
  }
  void note(const Product& product) {
    for (const std::string& name : {product.dst, product.lhs, product.rhs}) buffers.insert(name);
    written.insert(product.dst);
    for (const Sym& s : {product.dst_index, product.lhs_index, product.rhs_index}) sym(s);
    for (const auto& [name, size] : product.sizes) sym(size);
  }
  void note(const Transpose& t) {
    buffers.insert(t.dst);
    buffers.insert(t.src);
    written.insert(t.dst);
    for (const Sym* s :
         {&t.dst_index, &t.src_index, &t.dst_stride, &t.src_stride, &t.rows, &t.columns}) {
      sym(*s);
    }
  }
  void note(const Fetch& fetch) {
    buffers.insert(fetch.dst);
    buffers.insert(fetch.src);
    written.insert(fetch.dst);
    for (const Sym* s : {&fetch.dst_index, &fetch.src_index, &fetch.count}) sym(*s);
  }
  void note(const Await&) {}
  void note(const Prefetch& prefetch) {
    buffers.insert(prefetch.buffer);
    sym(prefetch.index);
  }
  void note(const std::shared_ptr<Loop>& loop) { sym(loop->extent); }
};

}  // namespace

bool sums_columns(const std::vector<Stmt>& body, bool in_vector) {
  return std::ranges::any_of(body, [&](const Stmt& stmt) {
    if (std::holds_alternative<Accumulator>(stmt)) return in_vector;
    const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt);
    return loop != nullptr &&
           sums_columns((*loop)->body, in_vector || (*loop)->kind == LoopKind::vector);
  });
}

namespace {

constexpr int64_t warps_of_many = 8;  // for more chunks of a row than a block has warps

int64_t narrowest_bytes(const Kernel& kernel) {
  int64_t bytes = 8;
  for (const Param& param : kernel.params) bytes = std::min(bytes, byte_size(param.dtype));
  return bytes;
}

// Lanes of a reduction that a thread takes: short rows go several to a warp, so that a thread still
// has 16 bytes an access and something to do.
int row_lanes(const Kernel& kernel) {
  int lanes = std::min(cuda::thread_elements(narrowest_bytes(kernel)), cuda::most_row_lanes);
  int64_t kept = 0;  // bytes of an element
  for (const Scratch& scratch : kernel.scratch) kept += byte_size(scratch.dtype);
  auto fit = [&](const Stmt& stmt) {
    const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt);
    if (loop == nullptr || (*loop)->kind != LoopKind::vector) return;
    std::optional<int64_t> length = (*loop)->extent.constant();
    auto fits = [&] {
      const int threads = vector_lanes / lanes;
      return length && *length % lanes == 0 &&
             *length * std::max<int64_t>(kept, 2) <= threads * cuda::most_row_bytes;
    };
    while (lanes > cuda::row_lanes && !fits()) lanes /= 2;
  };
  for (const Phase& phase : kernel.phases) walk(phase.body, fit);
  return lanes;
}

// Threads of an iteration of elementwise work: a block, or as many as its short rows employ.
int elementwise_team(const Kernel& kernel, int lanes) {
  int64_t most = 0;
  auto note = [&](const Stmt& stmt) {
    const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt);
    if (loop == nullptr || (*loop)->kind != LoopKind::vector) return;
    most = std::max(most, longest_loop((*loop)->extent).value_or(cuda::block * lanes));
  };
  for (const Phase& phase : kernel.phases) walk(phase.body, note);
  int team = cuda::block;
  while (team > 1 && most > 0 && most <= team / 2 * lanes) team /= 2;
  return team;
}

// A row on so many warps of so many blocks.
Target of_rows(int lanes, int64_t warps, int64_t blocks) {
  const auto team = static_cast<int>(warps * cuda::warp), of_team = static_cast<int>(blocks);
  return {true, lanes, team, static_cast<int>(warps), team / of_team, 0, of_team};
}

// Reductions: a warp for an iteration, or for an iteration of its spread loops; its threads have
// two of the 64 lanes each, or four columns of their own. Without any: a block for an iteration,
// and as many elements a thread as its narrowest access has in 16 bytes; where it turns over tiles,
// a column of them for as many threads as that takes.
Target cuda_target(const Kernel& kernel) {
  bool reduces = false, sums = false, fetches = false;
  int64_t warps = 1, blocks = 1, tile_rows = 0, lanes_of_sums = vector_lanes, widest = 0;
  auto note = [&](const Stmt& stmt) {
    fetches |= std::holds_alternative<Fetch>(stmt);
    if (const auto* tile = std::get_if<Transpose>(&stmt)) tile_rows = *tile->dst_stride.constant();
    const auto* acc = std::get_if<Accumulator>(&stmt);
    reduces |= acc != nullptr && acc->lanes > 1;
    sums |= acc != nullptr;
    if (acc != nullptr) lanes_of_sums = std::max<int64_t>(lanes_of_sums, acc->lanes);
    const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt);
    if (loop != nullptr && (*loop)->kind == LoopKind::vector) {
      widest = std::max(widest, longest_loop((*loop)->extent).value_or(0));
    }
    if (loop == nullptr || (*loop)->kind != LoopKind::spread) return;
    const int64_t extent = (*loop)->extent.constant().value_or(warps_of_many);
    const int64_t share = (extent + blocks - 1) / blocks;
    warps = std::max(warps, blocks * (share > cuda::most_warps ? warps_of_many : share));
  };
  for (const Phase& phase : kernel.phases) {
    blocks = std::max(blocks, phase.blocks);
    walk(phase.body, note);
  }
  if (reduces && lanes_of_sums > vector_lanes) {
    Target target = of_rows(static_cast<int>(lanes_of_sums / cuda::warp), warps, blocks);
    if (warps == 1) target.block = cuda::row_block;
    return target;
  }
  if (reduces && warps == 1) {
    const bool columns = std::ranges::any_of(
        kernel.phases, [](const Phase& phase) { return sums_columns(phase.body); });
    const int lanes = columns ? cuda::row_lanes : row_lanes(kernel);
    const int team = vector_lanes / lanes;
    return {true, lanes, team, 1, fetches ? team : cuda::row_block};
  }
  if (reduces) return of_rows(cuda::row_lanes, warps, blocks);
  int lanes = cuda::thread_elements(narrowest_bytes(kernel));
  if (sums) {
    const bool wide = widest >= cuda::warp * lanes;
    return {true, wide ? lanes : cuda::column_lanes, cuda::warp, 0, cuda::row_block};
  }
  if (tile_rows == 0) {
    if (kernel.thread_elements > 0) lanes = static_cast<int>(kernel.thread_elements);
    const int team = elementwise_team(kernel, lanes);
    return {true, lanes, team, 0, cuda::block, std::max(team, cuda::few_block)};
  }
  const int groups = static_cast<int>(cuda::block * lanes / tile_rows);
  return {true, lanes, cuda::block, groups, cuda::block};
}

// Columns of a kernel for rows: a warp for an iteration, where a row takes several.
Target phase_target(const Target& kernel, const Phase& phase) {
  if (kernel.warps <= 1) return kernel;
  bool rows = false;
  auto note = [&](const Stmt& stmt) {
    const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt);
    rows |= loop != nullptr && (*loop)->kind == LoopKind::spread;
  };
  walk(phase.body, note);
  if (rows || !sums_columns(phase.body)) return kernel;
  return {true, kernel.lanes, vector_lanes / kernel.lanes, 0, cuda::row_block};
}

}  // namespace

Emitter::Emitter(const Kernel& kernel, const Target& target)
    : LaneQuestions(kernel, target),
      report_(target.cuda ? "report" : "call->report"),
      names_(reserved_names()) {
  for (const Param& param : kernel.params) buffer_dtypes_[param.name] = param.dtype;
  for (const Scratch& scratch : kernel.scratch) buffer_dtypes_[scratch.name] = scratch.dtype;
  if (!target.cuda) return;
  auto note = [&](const Stmt& stmt) {
    if (const auto* transpose = std::get_if<Transpose>(&stmt)) note_tile(*transpose);
    if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt)) note_shared_rows(**loop);
    if (const auto* fetch = std::get_if<Fetch>(&stmt)) fetched_.insert(fetch->dst);
    if (const auto* load = std::get_if<Load>(&stmt)) loaded_.insert(load->buffer);
  };
  for (const Phase& phase : kernel.phases) walk(phase.body, note);
}

KernelSource Emitter::source() {
  source_.name = kernel_.name;
  source_.lanes = target_.lanes;
  source_.sizes = kernel_.sizes;
  source_.reports = kernel_.reports;
  source_.scratch_bytes = scratch_offset(kernel_.scratch.size());
  for (const Param& param : kernel_.params) {
    source_.params.push_back({param.name, param.value, param.role != Role::input,
                              param.role == Role::workspace,
                              param.elements * Sym(byte_size(param.dtype))});
  }
  source_.text = header_text();
  for (size_t i = 0; i < kernel_.phases.size(); i++) source_.text += phase_text(i);
  source_.key = names_.without_names(source_.text);
  source_.sections = device::sections_used(source_.text);
  source_.sections.merge(device::sections_used(device::library_text(source_.functions)));
  return std::move(source_);
}

std::string Emitter::header_text() const {
  std::string text;
  for (std::string_view rest = kernel_.comment; !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    text += fmt::format("// {}\n", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::vector<std::string> in, out;
  for (const Param& param : kernel_.params) {
    std::string type = fmt::format("{}: {}[{}]", quoted_name(param.name), dtype_name(param.dtype),
                                   param.elements.text());
    (param.role == Role::input ? in : out).push_back(std::move(type));
  }
  std::string signature =
      fmt::format("{}({}) -> {}", kernel_.name, join(in, ", "), join(out, ", "));
  if (signature.size() <= 96) return text + "// " + signature + "\n";
  text += fmt::format("// {}(\n", kernel_.name);
  for (const std::string& param : in) text += fmt::format("//     {},\n", param);
  return text + fmt::format("// ) -> {}\n", join(out, ", "));
}

// Scratch buffers follow one another, each from a cache line's start.
Sym Emitter::scratch_offset(size_t number) const {
  Sym offset = 0;
  for (size_t i = 0; i < number; i++) {
    const Scratch& scratch = kernel_.scratch[i];
    offset = offset + Sym(64) * ceil_div(scratch.elements * Sym(byte_size(scratch.dtype)), 64);
  }
  return offset;
}

void Emitter::declare_buffers(const Phase& phase) {
  Uses uses;
  for (const Scratch& scratch : kernel_.scratch) {
    if (is_thread_row(scratch.name)) uses.rows.insert(scratch.name);
  }
  walk(phase.body, uses);
  if (target_.team < target_.block) uses.sym(phase.extent);
  in_subscripts_ = uses.variables;
  uses_ = std::move(uses.values);
  written_ = uses.written;
  for (size_t i = 0; i < kernel_.scratch.size(); i++) {
    if (uses.buffers.contains(kernel_.scratch[i].name)) uses.sym(scratch_offset(i));
  }
  for (size_t i = 0; i < kernel_.params.size(); i++) {
    const Param& param = kernel_.params[i];
    if (!uses.buffers.contains(param.name)) continue;
    std::string type = fmt::format("{}{}*", uses.written.contains(param.name) ? "" : "const ",
                                   storage_type(param.dtype));
    buffers_[param.name] = names_.unique(param.name);
    if (target_.cuda) continue;
    line(fmt::format("{} {} = ({})call->buffers[{}];", type, buffers_[param.name], type, i));
  }
  for (size_t i = 0; i < kernel_.sizes.size(); i++) {
    const std::string& size = kernel_.sizes[i];
    if (!uses.variables.contains(size)) continue;
    variables_[size] = names_.unique(size);
    if (target_.cuda) continue;
    line(fmt::format("const long {} = call->sizes[{}];", variables_[size], i));
  }
  for (size_t i = 0; i < kernel_.scratch.size() && !target_.cuda; i++) {
    const Scratch& scratch = kernel_.scratch[i];
    if (!uses.buffers.contains(scratch.name)) continue;
    std::string type = fmt::format("{}*", storage_type(scratch.dtype));
    buffers_[scratch.name] = names_.unique(scratch.name);
    Sym offset = scratch_offset(i);
    std::string place =
        offset.is(0) ? "call->scratch" : fmt::format("(call->scratch + {})", subscript(offset));
    line(fmt::format("{} {} = ({}){};", type, buffers_[scratch.name], type, place));
  }
}

std::string Emitter::phase_text(size_t number) {
  const Phase& phase = kernel_.phases[number];
  target_ = phase_target(kernel_target_, phase);
  std::string symbol = fmt::format("{}_p{}", kernel_.name, number);
  names_.give(symbol);
  source_.phases.push_back({symbol, phase.extent, phase.grain, target_.team,
                            target_.cuda ? target_.block : 0, target_.least_block, target_.blocks});
  static_cast<PhaseState&>(*this) = {};
  names_.open();
  out_.open("");
  declare_buffers(phase);
  ranges_.emplace(phase.var, phase.extent);
  open_iterations(phase);
  declare_quotients(phase);
  if (target_.cuda) {
    note_pairs(phase);
    declare_thread_rows(phase);
    declare_shared_rows(phase);
    declare_tiles(phase);
    stores_whole_ = !tiles_.empty() || !fetched_.empty() || sums_columns(phase.body, false);
  }
  statements(phase.body);
  close_iterations();
  out_.close();
  names_.close();
  std::string head = target_.cuda
                         ? cuda_signature(symbol, phase)
                         : fmt::format("extern \"C\" void {}(const KernelCall* call) {{\n", symbol);
  for (const std::string& setup : setups_) head += fmt::format("  {}();\n", setup);
  return head + out_.take().substr(1);
}

// Every parameter and size of the kernel, so that all its phases are launched alike.
std::string Emitter::cuda_signature(const std::string& symbol, const Phase& phase) const {
  std::vector<std::string> params;
  for (const Param& param : kernel_.params) {
    auto name = buffers_.find(param.name);
    params.push_back(
        fmt::format("{}{}* __restrict__{}", written_.contains(param.name) ? "" : "const ",
                    storage_type(param.dtype), name == buffers_.end() ? "" : " " + name->second));
  }
  for (const std::string& size : kernel_.sizes) {
    auto name = variables_.find(size);
    params.push_back(name == variables_.end() ? "long" : "long " + name->second);
  }
  params.emplace_back("KernelReport* report");
  std::string head =
      fmt::format("extern \"C\" __global__ void {} {}(", launch_bounds(phase), symbol);
  std::string joined = join(params, ", ") + ") {\n";
  return head.size() + joined.size() <= line_width
             ? head + joined
             : head + "\n    " + join(params, ",\n    ") + ") {\n";
}

// The iterations of a phase that this call, or this team of threads, runs.
void Emitter::open_iterations(const Phase& phase) {
  std::string var = names_.unique(phase.var);
  variables_[phase.var] = var;
  if (!target_.cuda) {
    open(fmt::format("for (long {0} = call->begin; {0} < call->end; {0}++) {{", var));
    return;
  }
  line("after_previous_kernel();");
  if (target_.blocks > 1) {
    // Nobody leaves anything in the shared memory of a block that has not started.
    line("cluster_barrier();");
    line(fmt::format("const long {} = blockIdx.x / {};", var, target_.blocks));
    line(fmt::format("const int warp = blockIdx.x % {} * {} + threadIdx.x / {};", target_.blocks,
                     target_.warps / target_.blocks, cuda::warp));
    line(fmt::format("const int thread = threadIdx.x % {};", cuda::warp));
    return;
  }
  if (target_.team == target_.block) {
    line(fmt::format("const long {} = blockIdx.x;", var));
    if (target_.warps > 1) {
      declare_group();
    } else {
      line("const int thread = threadIdx.x;");
    }
    return;
  }
  const std::string extent = subscript(phase.extent);
  const std::string place =
      fmt::format("(blockIdx.x * {} + threadIdx.x) / {}",
                  target_.least_block > 0 ? "(long)blockDim.x" : fmt::format("{}L", target_.block),
                  target_.team);
  if (target_.warps > 0 && target_.team < cuda::warp) {
    // The teams of a warp stay together: one without an iteration repeats the last, but its stores.
    const std::string place_name = names_.unique("place");
    repeats_ = names_.unique("repeats");
    line(fmt::format("const long {} = {};", place_name, place));
    line(fmt::format("const long {} = min({}, {} - 1);", var, place_name, extent));
    line(fmt::format("const bool {} = {} != {};", repeats_, place_name, var));
    line(fmt::format("const int thread = threadIdx.x % {};", target_.team));
    return;
  }
  line(fmt::format("const long {} = {};", var, place));
  line(fmt::format("const int thread = threadIdx.x % {};", target_.team));
  line(fmt::format("if ({} >= {}) return;", var, extent));
}

// Quotients that are the same in the whole iteration: a division takes as long as several vectors.
void Emitter::declare_quotients(const Phase& phase) {
  Uses uses;
  walk(phase.body, uses);
  std::set<std::string> known(kernel_.sizes.begin(), kernel_.sizes.end());
  known.insert(phase.var);
  for (const auto& atom : uses.quotients) {
    std::set<std::string> names = atom->left.variables();
    names.merge(atom->right.variables());
    bool fixed = names.contains(phase.var) && std::ranges::includes(known, names);
    if (!fixed || quotients_.contains(atom->text)) continue;
    bool divides = atom->kind == Sym::Atom::Kind::floor_div;
    std::string text = subscript(Sym::sum(0, {{{atom}, 1}}));
    quotients_[atom->text] =
        shared_name(phase.var + (divides ? "_quotient" : "_rest"), "long", text);
  }
}

void Emitter::close_iterations() {
  if (target_.cuda) return;
  close();
  if (streams_) line("stream_fence();");
}

void Emitter::open(const std::string& text) {
  out_.open(text);
  depth_++;
  names_.open();
}

void Emitter::close(const std::string& text) {
  names_.close();
  depth_--;
  out_.close(text);
  while (!shared_.empty() && shared_.back().depth > depth_) shared_.pop_back();
}

void Emitter::line(const std::string& text) { out_.line(text); }

void Emitter::call_line(const std::string& function, const std::vector<std::string>& arguments) {
  std::string text = fmt::format("{}({});", function, join(arguments, ", "));
  if (2 * depth_ + text.size() <= line_width) return line(text);
  line(function + "(");
  for (size_t i = 0; i < arguments.size(); i++) {
    line(fmt::format("    {}{}", arguments[i], i + 1 < arguments.size() ? "," : ");"));
  }
}

KernelSource emit_cpp(const Kernel& kernel) { return Emitter(kernel, Target{}).source(); }

bool fits_cuda(const Kernel& kernel) {
  bool fits = true;
  auto note = [&](const Stmt& stmt) { fits = fits && !std::holds_alternative<Product>(stmt); };
  for (const Phase& phase : kernel.phases) walk(phase.body, note);
  return fits;
}

std::string cuda_obstacle(const Kernel& kernel) {
  return fits_cuda(kernel) ? ""
                           : "it holds a matrix product or convolution, which run on a CPU only";
}

KernelSource emit_cuda(const Kernel& kernel) {
  return Emitter(kernel, cuda_target(kernel)).source();
}

}  // namespace ingot
