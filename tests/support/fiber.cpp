// The switch is written by hand for x86-64: swapcontext enters the kernel each time, and a test
// switches millions of times.
#include "support/fiber.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <vector>

#include "base/error.h"

#if defined(__x86_64__)
// ingot_test_switch(where the stack's top is kept, the other's top): what a call leaves to its
// callee lies on the stack that is left. ingot_test_start: r12(rbx).
asm(R"(
.text
.type ingot_test_switch, @function
ingot_test_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.type ingot_test_start, @function
ingot_test_start:
  movq %rbx, %rdi
  call *%r12
  ud2
)");
extern "C" void ingot_test_switch(void** left, void* entered);
extern "C" void ingot_test_start();
#else
#include <ucontext.h>
#endif

namespace ingot::testing {
namespace {

constexpr size_t page = 4096, stack_bytes = 64 * 1024;

// Stacks of fibers that are gone: making one enters the kernel three times.
std::vector<void*>& free_stacks() {
  thread_local std::vector<void*> stacks;
  return stacks;
}

void* make_stack() {
  if (!free_stacks().empty()) {
    void* memory = free_stacks().back();
    free_stacks().pop_back();
    return memory;
  }
  void* memory = mmap(nullptr, page + stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  INGOT_CHECK(memory != MAP_FAILED, "no memory for a stack");
  mprotect(memory, page, PROT_NONE);
  return memory;
}

}  // namespace

Fiber::Fiber() : stack_(make_stack(), [](void* memory) { free_stacks().push_back(memory); }) {}

#if defined(__x86_64__)

void Fiber::start(void (*body)(void*), void* argument) {
  // What was never returned from has left its red zones.
  ASAN_UNPOISON_MEMORY_REGION(static_cast<char*>(stack_.get()) + page, stack_bytes);
  // In the order of the pops: r15 r14 r13 r12 rbx rbp, and where to go on.
  void** slots =
      reinterpret_cast<void**>(static_cast<char*>(stack_.get()) + page + stack_bytes) - 7;
  slots[3] = reinterpret_cast<void*>(body);
  slots[4] = argument;
  slots[6] = reinterpret_cast<void*>(&ingot_test_start);
  top_ = slots;
}

void Fiber::switch_between(Fiber& from, Fiber& to) { ingot_test_switch(&from.top_, to.top_); }

#else

// top_ points to a context that lies at the low end of the stack.
void Fiber::start(void (*body)(void*), void* argument) {
  ASAN_UNPOISON_MEMORY_REGION(static_cast<char*>(stack_.get()) + page, stack_bytes);
  auto* context = reinterpret_cast<ucontext_t*>(static_cast<char*>(stack_.get()) + page);
  getcontext(context);
  context->uc_stack.ss_sp = context + 1;
  context->uc_stack.ss_size = stack_bytes - sizeof(ucontext_t);
  makecontext(context, reinterpret_cast<void (*)()>(body), 1, argument);
  top_ = context;
}

void Fiber::switch_between(Fiber& from, Fiber& to) {
  if (from.top_ == nullptr) from.top_ = static_cast<char*>(from.stack_.get()) + page;
  swapcontext(static_cast<ucontext_t*>(from.top_), static_cast<ucontext_t*>(to.top_));
}

#endif

}  // namespace ingot::testing
