#include "support/cuda_emulation.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <regex>

#include "base/error.h"
#include "base/text.h"
#include "device/library_text.h"
#include "emit/emit.h"
#include "support/fiber.h"

namespace ingot::testing {
namespace {

constexpr std::string_view preamble =
#include "support/cuda_emulation.inc"
    ;
constexpr std::string_view twins =
#include "support/cuda_primitives.inc"
    ;

constexpr size_t warp_size = 32;
constexpr uint8_t poison = 0xff, pattern = 0xa5;  // of shared memory; around a buffer

// The struct of cuda_emulation.inc.
struct EmulatedThread {
  EmulatedDim thread_index, block_index, block_size, grid_size;
  void* dynamic_shared;
  std::byte *shared, *shared_end;  // static shared memory, filled by emulation_attach
  unsigned long (*barrier)(EmulatedThread*, int operation, int line, unsigned long value);
  void (*warp)(EmulatedThread*, int operation, int line, unsigned mask, unsigned long value,
               unsigned long* values);
  void (*named_barrier)(EmulatedThread*, unsigned name, unsigned threads, int line);
  void (*cluster_barrier)(EmulatedThread*, int line);
  void (*share)(EmulatedThread*, void* place, unsigned rank, const void* from, unsigned long bytes,
                int line);
  void (*other_threads)(EmulatedThread*);
  void (*fault)(EmulatedThread*, const char* text, int line);
};

// Sections of a device text by their first lines: "core", "u8".
std::vector<std::pair<std::string, std::string>> sections_of(std::string_view text) {
  constexpr std::string_view marker = "//: section ";
  std::vector<std::pair<std::string, std::string>> sections;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n') + 1);
    text.remove_prefix(line.size());
    if (line.starts_with(marker)) {
      sections.emplace_back(line.substr(marker.size()), "");
    } else if (!sections.empty()) {
      sections.back().second += line;
    }
  }
  return sections;
}

// The unit with twins in the place of the primitives.
std::string with_twins(std::string unit) {
  const auto host = sections_of(twins);
  for (const auto& [name, text] : sections_of(device::embedded("cuda_primitives.inc"))) {
    const size_t place = unit.find(text);
    if (place == std::string::npos) continue;
    const auto twin = std::ranges::find(host, name, &std::pair<std::string, std::string>::first);
    INGOT_CHECK(twin != host.end(), "tests/support/cuda_primitives.inc has no section '{}'", name);
    unit.replace(place, text.size(), twin->second);
  }
  INGOT_CHECK(
      unit.find("asm(") == std::string::npos && unit.find("asm volatile") == std::string::npos,
      "inline assembly that is not in src/device/cuda_primitives.inc");
  return unit;
}

// extern __shared__ T name[]; as a pointer.
std::string with_dynamic_shared(const std::string& unit) {
  static const std::regex declaration(
      R"(extern __shared__ (?:(?:__align__|alignas)\(\d+\) )?([\w ]+?) (\w+)\[\];)");
  return std::regex_replace(unit, declaration, "$1* const $2 = ($1*)emulated->dynamic_shared;");
}

enum class State { ready, at_barrier, at_named_barrier, at_cluster_barrier, in_warp, done };

struct Thread {
  State state = State::ready;
  // What it waits for, and what it brought; behind a barrier the result.
  int operation = 0, line = 0;
  unsigned mask = 0;  // or the barrier's name
  unsigned long value = 0;
  unsigned long* values = nullptr;

  bool same_wait(const Thread& other) const {
    return state == other.state && operation == other.operation && line == other.line &&
           mask == other.mask;
  }
};

struct Block {
  EmulatedDim index;
  GuardedMemory dynamic;
  std::vector<std::byte> shared;  // static shared memory while other blocks run
  std::vector<Thread> threads;
  std::vector<Fiber> fibers;
  bool started = false;

  bool all(State state) const {
    return std::ranges::all_of(threads, [&](const Thread& t) { return t.state == state; });
  }
};

// One launch. Blocks of a cooperative one, or of a cluster, are alive together.
class Launch : public EmulatedThread {
 public:
  Launch(const Library& library, const std::string& symbol, const EmulatedLaunch& launch,
         const std::vector<void*>& arguments, EmulatedOrder order);
  void run();

 private:
  using Body = void (*)(void** arguments);
  using Attach = void (*)(EmulatedThread*);

  size_t in_order(size_t i, size_t count) const { return backwards_ ? count - 1 - i : i; }
  void begin(Block& block, size_t number);
  void run_together();
  bool run_ready(Block& block);
  void enter(size_t thread);
  void wait();
  void arrived_at_barrier();
  void arrived_in_warp(size_t thread);
  void finished();
  [[noreturn]] void fail_waiting();
  std::string where(size_t thread) const;

  static Launch& of(EmulatedThread* self) { return *static_cast<Launch*>(self); }
  static void thread_body(void* self);
  static unsigned long on_barrier(EmulatedThread* self, int operation, int line,
                                  unsigned long value);
  static void on_warp(EmulatedThread* self, int operation, int line, unsigned mask,
                      unsigned long value, unsigned long* values);
  static void on_named_barrier(EmulatedThread* self, unsigned name, unsigned threads, int line);
  static void on_cluster_barrier(EmulatedThread* self, int line);
  static void on_share(EmulatedThread* self, void* place, unsigned rank, const void* from,
                       unsigned long bytes, int line);
  static void on_other_threads(EmulatedThread* self);
  static void on_fault(EmulatedThread* self, const char* text, int line);

  const std::string source_, symbol_;
  const EmulatedLaunch launch_;
  const std::vector<void*> arguments_;
  const bool backwards_;
  Body kernel_;
  size_t threads_;
  Fiber scheduler_;
  std::vector<Block> blocks_;  // that are alive
  Block* block_ = nullptr;
  size_t thread_ = 0;
  size_t progress_ = 0;  // threads that waited or ended
  std::string fault_;
};

size_t product(EmulatedDim size) { return size_t{size.x} * size.y * size.z; }

// Thread or block number i of a size, x fastest.
EmulatedDim index_of(size_t i, EmulatedDim size) {
  return {static_cast<unsigned>(i % size.x), static_cast<unsigned>(i / size.x % size.y),
          static_cast<unsigned>(i / size.x / size.y)};
}

std::string dim_text(EmulatedDim index) {
  return fmt::format("({}, {}, {})", index.x, index.y, index.z);
}

Launch::Launch(const Library& library, const std::string& symbol, const EmulatedLaunch& launch,
               const std::vector<void*>& arguments, EmulatedOrder order)
    : source_(library.path),
      symbol_(symbol),
      launch_(launch),
      arguments_(arguments),
      backwards_(order == EmulatedOrder::backwards),
      kernel_(reinterpret_cast<Body>(library.entry("emulate_" + symbol))),
      threads_(product(launch.block)) {
  INGOT_CHECK(threads_ >= 1 && threads_ <= 1024, "{}: a block of {} threads", symbol, threads_);
  INGOT_CHECK(launch.shared_bytes <= 227 * 1024, "{}: {} bytes of shared memory", symbol,
              launch.shared_bytes);
  block_size = launch.block;
  grid_size = launch.grid;
  barrier = on_barrier;
  warp = on_warp;
  named_barrier = on_named_barrier;
  cluster_barrier = on_cluster_barrier;
  share = on_share;
  other_threads = on_other_threads;
  fault = on_fault;
  reinterpret_cast<Attach>(library.entry("emulation_attach"))(this);
}

void Launch::begin(Block& block, size_t number) {
  block.index = index_of(number, launch_.grid);
  std::memset(block.dynamic.data(), poison, static_cast<size_t>(launch_.shared_bytes));
  block.shared.assign(static_cast<size_t>(shared_end - shared), std::byte{poison});
  block.threads.assign(threads_, {});
  block.fibers.resize(threads_);
  for (Fiber& fiber : block.fibers) fiber.start(thread_body, this);
  block.started = false;
}

void Launch::run() {
  const size_t count = product(launch_.grid);
  const size_t together = launch_.cooperative ? count : std::min<size_t>(count, launch_.cluster);
  INGOT_CHECK(count == 0 || count % together == 0, "{}: {} blocks in clusters of {}", symbol_,
              count, together);
  for (size_t i = 0; i < together; i++) {
    blocks_.push_back({{}, GuardedMemory(launch_.shared_bytes, poison), {}, {}, {}});
  }
  for (size_t first = 0; first < count; first += together) {
    for (size_t i = 0; i < together; i++) begin(blocks_[i], in_order(first + i, count));
    run_together();
  }
}

void Launch::run_together() {
  constexpr int most_idle_turns = 10000;
  int idle = 0;
  for (bool running = true; running;) {
    running = false;
    const size_t before = progress_;
    for (Block& block : blocks_) {
      std::copy(block.shared.begin(), block.shared.end(), shared);
      running = run_ready(block) || running;
      std::copy(shared, shared_end, block.shared.begin());
      INGOT_CHECK(block.dynamic.intact(), "{}: writes beyond dynamic shared memory", symbol_);
    }
    idle = progress_ == before ? idle + 1 : 0;
    if (running && idle > most_idle_turns) fail_internal("emulation", symbol_ + " spins forever");
  }
}

// Runs a block until all its threads wait or spin; false when all have ended.
bool Launch::run_ready(Block& block) {
  block_ = &block;
  block.started = true;
  block_index = block.index;
  dynamic_shared = block.dynamic.data();
  bool spins = false;
  size_t before = 0;
  do {
    before = progress_;
    spins = false;
    for (size_t i = 0; i < threads_; i++) {
      const size_t thread = in_order(i, threads_);
      if (block.threads[thread].state != State::ready) continue;
      enter(thread);
      spins = spins || block.threads[thread].state == State::ready;
    }
  } while (progress_ != before);
  if (block.all(State::done)) return false;
  const bool waits_for_others = std::ranges::any_of(
      block.threads, [](const Thread& t) { return t.state == State::at_cluster_barrier; });
  if (!spins && !waits_for_others) fail_waiting();
  return true;
}

void Launch::enter(size_t thread) {
  thread_ = thread;
  thread_index = index_of(thread, launch_.block);
  Fiber::switch_between(scheduler_, block_->fibers[thread]);
  if (fault_.empty()) return;
  fail_internal("emulation", fmt::format("{}: {}", where(thread), fault_));
}

std::string Launch::where(size_t thread) const {
  return fmt::format("{}, block {}, thread {}", symbol_, dim_text(block_index),
                     dim_text(index_of(thread, launch_.block)));
}

void Launch::wait() {
  Fiber& own = block_->fibers[thread_];
  Fiber::switch_between(own, scheduler_);
}

// ---- on the threads' stacks

void Launch::thread_body(void* self) {
  auto& launch = *static_cast<Launch*>(self);
  launch.kernel_(const_cast<void**>(launch.arguments_.data()));
  launch.finished();
}

void Launch::finished() {
  block_->threads[thread_].state = State::done;
  progress_++;
  arrived_at_barrier();
  const size_t first = thread_ / warp_size * warp_size;
  for (size_t i = first; i < std::min(first + warp_size, threads_); i++) {
    if (block_->threads[i].state == State::in_warp) arrived_in_warp(i);
  }
  wait();
}

// Ends the barrier once all threads that have not ended are there.
void Launch::arrived_at_barrier() {
  std::vector<Thread>& threads = block_->threads;
  const Thread* first = nullptr;
  unsigned long count = 0, waiting = 0;
  for (const Thread& thread : threads) {
    if (thread.state == State::done) continue;
    if (thread.state != State::at_barrier) return;
    if (first == nullptr) first = &thread;
    if (!thread.same_wait(*first)) return;
    waiting++;
    count += thread.value;
  }
  constexpr int all = 2, any = 3;  // the operations of cuda_emulation.inc
  for (Thread& thread : threads) {
    if (thread.state == State::done) continue;
    thread.value = thread.operation == all   ? static_cast<unsigned long>(count == waiting)
                   : thread.operation == any ? static_cast<unsigned long>(count > 0)
                                             : count;
    thread.state = State::ready;
  }
}

// Ends a warp's operation once all lanes of the mask that have not ended are in it.
void Launch::arrived_in_warp(size_t number) {
  std::vector<Thread>& threads = block_->threads;
  const Thread asked = threads[number];
  const size_t first = number / warp_size * warp_size;
  unsigned long values[warp_size] = {};
  for (size_t lane = 0; lane < warp_size; lane++) {
    if ((asked.mask >> lane & 1) == 0) continue;
    if (first + lane >= threads_) continue;
    const Thread& thread = threads[first + lane];
    if (thread.state == State::done) continue;
    if (!thread.same_wait(asked)) return;
    values[lane] = thread.value;
  }
  for (size_t lane = 0; lane < warp_size && first + lane < threads_; lane++) {
    Thread& thread = threads[first + lane];
    if ((asked.mask >> lane & 1) == 0 || thread.state == State::done) continue;
    std::copy(values, values + warp_size, thread.values);
    thread.state = State::ready;
  }
}

unsigned long Launch::on_barrier(EmulatedThread* self, int operation, int line,
                                 unsigned long value) {
  Launch& launch = of(self);
  Thread& thread = launch.block_->threads[launch.thread_];
  thread = {State::at_barrier, operation, line, 0, value, nullptr};
  launch.progress_++;
  launch.arrived_at_barrier();
  launch.wait();
  return thread.value;
}

void Launch::on_warp(EmulatedThread* self, int operation, int line, unsigned mask,
                     unsigned long value, unsigned long* values) {
  Launch& launch = of(self);
  if ((mask >> launch.thread_ % warp_size & 1) == 0) {
    on_fault(self, "a warp operation whose mask leaves out the thread itself", line);
  }
  launch.block_->threads[launch.thread_] = {State::in_warp, operation, line, mask, value, values};
  launch.progress_++;
  launch.arrived_in_warp(launch.thread_);
  launch.wait();
}

// Ends once as many threads wait in it as it says, wherever in the text.
void Launch::on_named_barrier(EmulatedThread* self, unsigned name, unsigned count, int line) {
  Launch& launch = of(self);
  std::vector<Thread>& threads = launch.block_->threads;
  threads[launch.thread_] = {State::at_named_barrier, 0, line, name, count, nullptr};
  launch.progress_++;
  const auto waits = [&](const Thread& thread) {
    return thread.state == State::at_named_barrier && thread.mask == name && thread.value == count;
  };
  if (std::ranges::count_if(threads, waits) == static_cast<ptrdiff_t>(count)) {
    for (Thread& thread : threads) {
      if (waits(thread)) thread.state = State::ready;
    }
  }
  launch.wait();
}

// Ends once all threads of the cluster that have not ended are in it.
void Launch::on_cluster_barrier(EmulatedThread* self, int line) {
  Launch& launch = of(self);
  launch.block_->threads[launch.thread_] = {State::at_cluster_barrier, 0, line, 0, 0, nullptr};
  launch.progress_++;
  const auto arrived = [](const Block& block) {
    return std::ranges::all_of(block.threads, [](const Thread& thread) {
      return thread.state == State::done || thread.state == State::at_cluster_barrier;
    });
  };
  if (std::ranges::all_of(launch.blocks_, arrived)) {
    for (Block& block : launch.blocks_) {
      for (Thread& thread : block.threads) {
        if (thread.state == State::at_cluster_barrier) thread.state = State::ready;
      }
    }
  }
  launch.wait();
}

void Launch::on_share(EmulatedThread* self, void* place, unsigned rank, const void* from,
                      unsigned long bytes, int line) {
  Launch& launch = of(self);
  const auto offset = static_cast<std::byte*>(place) - launch.shared;
  const auto target = std::ranges::find_if(launch.blocks_, [&](const Block& block) {
    return block.index.x % launch.launch_.cluster == rank;
  });
  if (offset < 0 || static_cast<std::byte*>(place) + bytes > launch.shared_end ||
      target == launch.blocks_.end()) {
    on_fault(self, "shares what is not in a cluster's static shared memory", line);
  }
  if (!target->started || target->all(State::done)) {
    on_fault(self, "shares with a block that has not started or has ended", line);
  }
  const bool own = &*target == launch.block_;
  std::memcpy(own ? place : target->shared.data() + offset, from, bytes);
}

void Launch::on_other_threads(EmulatedThread* self) { of(self).wait(); }

void Launch::on_fault(EmulatedThread* self, const char* text, int line) {
  Launch& launch = of(self);
  launch.fault_ = fmt::format("{} (line {} of {})", text, line, launch.source_);
  launch.wait();
}

// Threads wait for others that wait for something else.
void Launch::fail_waiting() {
  constexpr std::string_view names[] = {"shuffle", "vote", "__syncwarp", "reduction"};
  std::string text;
  std::vector<const Thread*> told;
  for (size_t i = 0; i < threads_; i++) {
    const Thread& thread = block_->threads[i];
    if (thread.state == State::done) continue;
    if (std::ranges::any_of(told, [&](const Thread* t) { return t->same_wait(thread); })) continue;
    told.push_back(&thread);
    const std::string what =
        thread.state == State::at_barrier           ? "the block's barrier"
        : thread.state == State::at_cluster_barrier ? "the cluster's barrier"
        : thread.state == State::at_named_barrier
            ? fmt::format("barrier {} for {} threads", thread.mask, thread.value)
            : fmt::format("a warp's {} with mask {:08x}",
                          names[static_cast<size_t>(thread.operation)], thread.mask);
    text += fmt::format("\n  thread {} waits in {} of line {}", i, what, thread.line);
  }
  fail_internal("emulation",
                fmt::format("{}, block {}: not all threads come to one place:{}\n  of {}", symbol_,
                            dim_text(block_index), text, source_));
}

// ---- accesses beyond mapped memory

Launch* running = nullptr;  // for the signal's handler

void on_signal(int, siginfo_t* info, void*) {
  running->fault(running, fmt::format("touches address {}", info->si_addr).c_str(), 0);
}

// The handler of bad accesses while a launch runs: on a stack of its own, which it never returns
// to.
class BadAccesses {
 public:
  explicit BadAccesses(Launch* launch) : memory_(64 * 1024) {
    running = launch;
    stack_t stack{};
    stack.ss_sp = memory_.data();
    stack.ss_size = memory_.size();
    sigaltstack(&stack, &old_stack_);
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &old_segv_);
    sigaction(SIGBUS, &action, &old_bus_);
  }
  ~BadAccesses() {
    sigaction(SIGSEGV, &old_segv_, nullptr);
    sigaction(SIGBUS, &old_bus_, nullptr);
    sigaltstack(&old_stack_, nullptr);
    running = nullptr;
  }
  BadAccesses(const BadAccesses&) = delete;
  BadAccesses& operator=(const BadAccesses&) = delete;

 private:
  std::vector<std::byte> memory_;
  stack_t old_stack_{};
  struct sigaction old_segv_ {
  }, old_bus_{};
};

}  // namespace

std::string cuda_primitives_text() {
  std::string all;
  for (const auto& [name, text] : sections_of(device::embedded("cuda_primitives.inc"))) all += text;
  return all;
}

Unit emulated_unit(const std::string& name, const std::string& cuda_text,
                   const std::vector<std::string>& symbols) {
  std::string text = std::string(preamble) + with_dynamic_shared(with_twins(cuda_text));
  for (const std::string& symbol : symbols) {
    text += fmt::format(
        "extern \"C\" void emulate_{0}(void** arguments) {{ emulated_call({0}, arguments); }}\n",
        symbol);
  }
  return {name, text};
}

Unit emulated_unit(const std::string& name, std::span<const KernelSource* const> kernels) {
  std::vector<std::string> symbols;
  for (const KernelSource* kernel : kernels) {
    for (const PhaseSource& phase : kernel->phases) symbols.push_back(phase.symbol);
  }
  return emulated_unit(name, cuda_unit(kernels) + "using namespace ingot;\n", symbols);
}

void run_emulated(const Library& library, const std::string& symbol, const EmulatedLaunch& launch,
                  const std::vector<void*>& arguments, EmulatedOrder order) {
  Launch emulated(library, symbol, launch, arguments, order);
  const BadAccesses handler(&emulated);
  emulated.run();
}

GuardedMemory::GuardedMemory(int64_t bytes, uint8_t fill) : bytes_(bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  usable_ = (bytes + 15) / page * page + page;
  const auto mapped = static_cast<size_t>(usable_ + page);
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  INGOT_CHECK(memory != MAP_FAILED, "no memory for {} bytes", bytes);
  auto* first = static_cast<std::byte*>(memory);
  mprotect(first + usable_, static_cast<size_t>(page), PROT_NONE);
  pages_ = {first, [mapped](std::byte* m) { munmap(m, mapped); }};
  std::memset(first, pattern, static_cast<size_t>(usable_));
  data_ = first + usable_ - (bytes + 15) / 16 * 16;
  std::memset(data_, fill, static_cast<size_t>(bytes));
}

bool GuardedMemory::intact() const {
  const auto untouched = [](std::byte b) { return b == std::byte{pattern}; };
  return std::all_of(pages_.get(), data_, untouched) &&
         std::all_of(data_ + bytes_, pages_.get() + usable_, untouched);
}

}  // namespace ingot::testing
