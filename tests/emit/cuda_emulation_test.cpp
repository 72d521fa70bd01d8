// The emulation itself: that it runs barriers, shuffles and shared memory as a device does, and
// that it finds what a device would hang on or forgive.
#include "support/cuda_emulation.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ingot::testing {
namespace {

const char* const kernels = R"(
// 64 numbers turned around through shared memory.
extern "C" __global__ void __launch_bounds__(64) turn(const float* x, float* y) {
  __shared__ float row[64];
  row[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = row[63 - threadIdx.x];
}
extern "C" __global__ void forgets_a_barrier(const float* x, float* y) {
  __shared__ float row[64];
  row[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  y[blockIdx.x * 64 + threadIdx.x] = row[63 - threadIdx.x];
}
extern "C" __global__ void through_dynamic(const float* x, float* y) {
  extern __shared__ __align__(16) float row[];
  row[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = row[63 - threadIdx.x];
}
extern "C" __global__ void shuffles(int* to) {
  int lane = threadIdx.x % 32, v = threadIdx.x;
  int* row = to + 6 * threadIdx.x;
  row[0] = __shfl_xor_sync(~0u, v, 5);
  row[1] = __shfl_up_sync(~0u, v, 3u);
  row[2] = __shfl_down_sync(~0u, v, 3u, 8);
  row[3] = __shfl_sync(~0u, v, 7, 16);
  row[4] = (int)__ballot_sync(~0u, lane % 3 == 0);
  if (lane < 16) row[5] = __reduce_add_sync(0xffffu, lane);
  if (lane >= 16) row[5] = __reduce_add_sync(0xffff0000u, lane);
}
extern "C" __global__ void diverges(int* to) {
  if (threadIdx.x < 32) __syncthreads();
  if (threadIdx.x >= 32) __syncthreads();
  to[threadIdx.x] = 1;
}
extern "C" __global__ void warp_diverges(int* to) {
  if (threadIdx.x % 2 == 0) to[threadIdx.x] = __shfl_xor_sync(~0u, 1, 1);
  else __syncthreads();
}
extern "C" __global__ void leaves_early(int* to) {
  if (threadIdx.x >= 40) return;
  to[threadIdx.x] = __syncthreads_count(threadIdx.x < 7);
}
// Two halves of a block, each with a barrier of its own; the second goes round it twice.
extern "C" __global__ void halves(const float* x, float* y) {
  __shared__ float row[64];
  unsigned half = threadIdx.x / 32;
  for (unsigned turn = 0; turn <= half; turn++) {
    row[threadIdx.x] = x[threadIdx.x] + turn;
    emulated_bar_sync(1 + half, 32, __LINE__);
    y[threadIdx.x] = row[threadIdx.x ^ 31];
    emulated_bar_sync(1 + half, 32, __LINE__);
  }
}
extern "C" __global__ void misaligned(const float* x, float* y) {
  store_pack(y, load_pack<float4>(x + 1));
}
extern "C" __global__ void beyond(const float* x, float* y) { y[0] = x[1024 * threadIdx.x]; }
// The last block to arrive adds what all have left, in order.
extern "C" __global__ void last_block(const float* x, float* parts, unsigned* arrived, float* sum) {
  parts[blockIdx.x] = x[blockIdx.x];
  __threadfence();
  if (atomicInc(arrived, gridDim.x - 1) != gridDim.x - 1) return;
  float all = 0;
  for (int i = 0; i < gridDim.x; i++) all += ((volatile float*)parts)[i];
  *sum = all;
}
// Every block waits for all others: cooperative launches only.
extern "C" __global__ void all_blocks(float* parts, unsigned* arrived, float* sums) {
  __shared__ float own;
  if (threadIdx.x == 0) {
    own = parts[blockIdx.x] = (float)blockIdx.x;
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned*)arrived < gridDim.x) __nanosleep(100);
  }
  __syncthreads();
  float all = 0;
  for (int i = 0; i < gridDim.x; i++) all += parts[i];
  sums[blockIdx.x * blockDim.x + threadIdx.x] = all + own;
}
// Each of four blocks leaves its number with all of them.
extern "C" __global__ void cluster(float* sums) {
  __shared__ float parts[4];
  cluster_barrier();
  if (threadIdx.x < 32) share_part<4>(parts + blockIdx.x % 4, blockIdx.x);
  cluster_barrier();
  sums[blockIdx.x * 64 + threadIdx.x] = parts[0] + parts[1] + parts[2] + parts[3];
}
extern "C" __global__ void shares_too_early(float* sums) {
  __shared__ float parts[4];
  share_part<4>(parts + blockIdx.x % 4, 1);
  cluster_barrier();
  sums[blockIdx.x] = parts[0];
}
extern "C" __global__ void shares_too_late(float* sums) {
  __shared__ float parts[4];
  cluster_barrier();
  share_part<4>(parts + blockIdx.x % 4, 1);
  sums[blockIdx.x] = parts[blockIdx.x % 4];
}
extern "C" __global__ void waits_alone(float* sums) {
  if (blockIdx.x > 0) __syncthreads();
  cluster_barrier();
  if (blockIdx.x == 0) cluster_barrier();
}
)";

const Library& library() {
  static const Library compiled = [] {
    const std::vector<std::string> symbols = {"turn",
                                              "forgets_a_barrier",
                                              "through_dynamic",
                                              "shuffles",
                                              "diverges",
                                              "warp_diverges",
                                              "leaves_early",
                                              "halves",
                                              "misaligned",
                                              "beyond",
                                              "last_block",
                                              "all_blocks",
                                              "cluster",
                                              "shares_too_early",
                                              "shares_too_late",
                                              "waits_alone"};
    const std::string text = cuda_primitives_text() + kernels;
    return compile({emulated_unit("emulation", text, symbols)}, {})[0];
  }();
  return compiled;
}

// Numbers on the device; integers that were not written are -1, floats NaN.
template <class T>
struct Buffer {
  GuardedMemory memory;
  T* data;
  explicit Buffer(int64_t count)
      : memory(count * static_cast<int64_t>(sizeof(T))),
        data(reinterpret_cast<T*>(memory.data())) {}
};

Buffer<float> counting(int64_t count) {
  Buffer<float> x(count);
  for (int64_t i = 0; i < count; i++) x.data[i] = static_cast<float>(i);
  return x;
}

template <class... T>
void launch(const std::string& symbol, const EmulatedLaunch& how, EmulatedOrder order,
            T*... arguments) {
  void* pointers[] = {arguments...};
  std::vector<void*> values;
  for (void*& pointer : pointers) values.push_back(&pointer);
  run_emulated(library(), symbol, how, values, order);
}

constexpr EmulatedOrder orders[] = {EmulatedOrder::forwards, EmulatedOrder::backwards};

std::string message_of(const std::string& symbol, const EmulatedLaunch& how) {
  const Buffer<float> x = counting(256), y(256);
  try {
    launch(symbol, how, EmulatedOrder::forwards, x.data, y.data);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_message(const std::string& symbol, const EmulatedLaunch& how,
                    const std::vector<std::string>& parts) {
  const std::string message = message_of(symbol, how);
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << symbol << ": '" << message << "'";
  }
}

TEST(Emulation, SharedMemoryAndBarriersAndManyBlocks) {
  for (const EmulatedOrder order : orders) {
    for (const char* symbol : {"turn", "through_dynamic"}) {
      const Buffer<float> x = counting(192), y(192);
      launch(symbol, {{3}, {64}, 256}, order, x.data, y.data);
      for (int i = 0; i < 192; i++) EXPECT_EQ(y.data[i], i / 64 * 64 + 63 - i % 64) << symbol;
    }
  }
}

TEST(Emulation, AForgottenBarrierShowsAsPoison) {
  for (const EmulatedOrder order : orders) {
    const Buffer<float> x = counting(64), y(64);
    launch("forgets_a_barrier", {{1}, {64}}, order, x.data, y.data);
    int poisoned = 0;
    for (int i = 0; i < 64; i++) poisoned += y.data[i] != y.data[i] ? 1 : 0;
    EXPECT_EQ(poisoned, 32);
  }
}

TEST(Emulation, ShufflesVotesAndReductionsOfWarps) {
  for (const EmulatedOrder order : orders) {
    const Buffer<int> to(64 * 6);
    launch("shuffles", {{1}, {64}}, order, to.data);
    for (int t = 0; t < 64; t++) {
      const int lane = t % 32, warp = t - lane;
      const int* row = to.data + static_cast<ptrdiff_t>(6 * t);
      EXPECT_EQ(row[0], warp + (lane ^ 5));
      EXPECT_EQ(row[1], lane < 3 ? t : t - 3);
      EXPECT_EQ(row[2], lane % 8 + 3 < 8 ? t + 3 : t);
      EXPECT_EQ(row[3], warp + lane / 16 * 16 + 7);
      EXPECT_EQ(static_cast<unsigned>(row[4]), 0x49249249u);
      EXPECT_EQ(row[5], lane < 16 ? 120 : 376);
    }
  }
}

TEST(Emulation, BarriersOfAPartOfTheBlock) {
  for (const EmulatedOrder order : orders) {
    const Buffer<float> x = counting(64), y(64);
    launch("halves", {{1}, {64}}, order, x.data, y.data);
    for (int i = 0; i < 64; i++) EXPECT_EQ(y.data[i], (i ^ 31) + i / 32);
  }
  expect_message("halves", {{1}, {48}}, {"thread 32 waits in barrier 2 for 32 threads of line"});
}

TEST(Emulation, ThreadsThatEndedAreNotWaitedFor) {
  const Buffer<int> to(64);
  launch("leaves_early", {{1}, {64}}, EmulatedOrder::forwards, to.data);
  for (int t = 0; t < 64; t++) EXPECT_EQ(to.data[t], t < 40 ? 7 : -1);
}

TEST(Emulation, BlocksLeavePartialsAndWaitForEachOther) {
  for (const EmulatedOrder order : orders) {
    const Buffer<float> x = counting(100), parts(100), sum(1);
    const Buffer<unsigned> arrived(1);
    *arrived.data = 0;
    launch("last_block", {{100}, {}}, order, x.data, parts.data, arrived.data, sum.data);
    EXPECT_EQ(*sum.data, 4950);
    EXPECT_EQ(*arrived.data, 0u);
    const Buffer<float> sums(10 * 32);
    launch("all_blocks", {{10}, {32}, 0, true}, order, parts.data, arrived.data, sums.data);
    for (int i = 0; i < 320; i++) EXPECT_EQ(sums.data[i], 45 + i / 32);
  }
}

TEST(Emulation, BlocksOfAClusterShareParts) {
  for (const EmulatedOrder order : orders) {
    const Buffer<float> sums(8 * 64);
    launch("cluster", {{8}, {64}, 0, false, 4}, order, sums.data);
    for (int i = 0; i < 8 * 64; i++) EXPECT_EQ(sums.data[i], i < 256 ? 6 : 22);
  }
  const EmulatedLaunch four = {{4}, {32}, 0, false, 4};
  const std::string_view why = "shares with a block that has not started or has ended";
  expect_message("shares_too_early", four, {std::string(why)});
  expect_message("shares_too_late", four, {std::string(why)});
  EXPECT_NE(message_of("waits_alone", four), "");
  expect_message("cluster", {{6}, {64}, 0, false, 4}, {"6 blocks in clusters of 4"});
}

TEST(Emulation, FindsThreadsThatWaitForEachOther) {
  expect_message(
      "diverges", {{1}, {64}},
      {"diverges, block (0, 0, 0): not all threads come to one place",
       "thread 0 waits in the block's barrier of line", "thread 32 waits in the block's"});
  expect_message("warp_diverges", {{1}, {64}},
                 {"thread 0 waits in a warp's shuffle with mask ffffffff of line",
                  "thread 1 waits in the block's barrier of line"});
  const Buffer<float> parts(10), sums(320);
  const Buffer<unsigned> arrived(1);
  *arrived.data = 0;
  EXPECT_THROW(launch("all_blocks", {{10}, {32}}, EmulatedOrder::forwards, parts.data, arrived.data,
                      sums.data),
               Error);
}

TEST(Emulation, FindsBadAccesses) {
  expect_message("misaligned", {},
                 {"misaligned, block (0, 0, 0), thread (0, 0, 0): misaligned access"});
  expect_message("beyond", {{1}, {2}},
                 {"beyond, block (0, 0, 0), thread (1, 0, 0): touches address"});
  const GuardedMemory memory(10);
  EXPECT_TRUE(memory.intact());
  memory.data()[10] = std::byte{0};
  EXPECT_FALSE(memory.intact());
}

}  // namespace
}  // namespace ingot::testing
