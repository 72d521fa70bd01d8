// A whole translation unit: the call's struct, the vector vocabulary, library functions, the few
// routines that reach memory lane by lane, then the kernels.
#include "base/text.h"
#include "device/library.h"
#include "emit/chunk.h"
#include "emit/emit.h"
#include "emit/names.h"

namespace ingot {
namespace {

// The struct of kernel_source.h.
constexpr std::string_view call_text = R"(struct KernelReport {
  long number, value;
};
struct KernelCall {
  void* const* buffers;
  const long* sizes;
  char* scratch;
  long begin, end;  // iterations of this phase
  KernelReport* report;
  void (*product)(const KernelCall* call, const char* routine, const long* sizes, const void* lhs,
                  const void* rhs, void* dst);
  const void* runtime;
};
)";

constexpr std::string_view small_text = R"(
#define ALWAYS_INLINE __attribute__((always_inline))
INLINE long min(long a, long b) { return a < b ? a : b; }
INLINE long divisor(long size) { return size < 1 ? 1 : size; }
INLINE bool on_line(const void* p) { return (long)p % 64 == 0; }
INLINE I32 lane_numbers() { return load_i32(lane_table); }
INLINE int lane_limit(long n) { return n < 0 ? 0 : n > INGOT_LANES ? INGOT_LANES : (int)n; }
INLINE M32 lanes_between(long first, long end) {  // first <= lane < end
  return (lane_numbers() >= lane_limit(first)) & (lane_numbers() < lane_limit(end));
}
)";

// One value in all lanes, from memory's form.
struct Routine {
  std::string_view name, text;
  std::optional<std::string_view> cuda = {};  // another text there; "": the vocabulary has it
};
constexpr Routine all_routines[] = {
    {"broadcast_bool", "INLINE M32 broadcast_bool(bool b) { return splat_i32(b ? -1 : 0); }\n"},
    {"broadcast_u8", "INLINE I32 broadcast_u8(unsigned char b) { return splat_i32(b); }\n"},
    {"broadcast_bf16",
     "INLINE F32 broadcast_bf16(unsigned short h) { return from_bits(splat_i32(h << 16)); }\n"},
    {"broadcast_f16",
     "INLINE F32 broadcast_f16(unsigned short h) {"
     " return splat_f32(widen_f16(i32v{} + h)[0]); }\n",
     "INLINE F32 broadcast_f16(unsigned short h) { return splat_f32(widen_f16(h)); }\n"},
    {"first_lane", R"(INLINE long first_lane(i64v v) { return v[0]; }
template <class H>
INLINE long first_lane(Two<H> v) {
  return first_lane(v.lo);
}
)",
     ""},
    {"lane_counted", R"(INLINE int lane_counted(long n, long first) {
  if (n < first) return -1;
  unsigned long lane = (unsigned long)n - (unsigned long)first;
  return lane < INGOT_LANES ? (int)lane : INGOT_LANES;
}
)",
     ""},
    // Rounds to odd where it is not exact, so that rounding again to bf16 or f16 is as if once.
    {"to_f32_odd", R"(INLINE F32 to_f32_odd(F64 a) {
  F32 r = to_f32(a);
  F64 back = to_f64(r);
  I32 toward_zero = bits(r) + (to_m32(abs(back) > abs(a)) & -1);
  return select(to_m32(back == a) | (r != r), r, from_bits(toward_zero | 1));
}
)"},
    {"broadcast_i8", "INLINE I32 broadcast_i8(signed char b) { return splat_i32(b); }\n"},
    {"broadcast_i16", "INLINE I32 broadcast_i16(short b) { return splat_i32(b); }\n"},
    {"broadcast_u16", "INLINE I32 broadcast_u16(unsigned short b) { return splat_i32(b); }\n"},
    {"broadcast_u32", "INLINE I64 broadcast_u32(unsigned b) { return splat_i64(b); }\n"},
    {"broadcast_f8e4m3",
     "INLINE F32 broadcast_f8e4m3(unsigned char h) {"
     " return splat_f32(widen_f8e4m3(i32v{} + h)[0]); }\n",
     "INLINE F32 broadcast_f8e4m3(unsigned char h) { return splat_f32(widen_f8e4m3(h)); }\n"},
    {"broadcast_f8e5m2",
     "INLINE F32 broadcast_f8e5m2(unsigned char h) {"
     " return splat_f32(widen_f8e5m2(i32v{} + h)[0]); }\n",
     "INLINE F32 broadcast_f8e5m2(unsigned char h) { return splat_f32(widen_f8e5m2(h)); }\n"},
};

// Reads and writes lane by lane: at(l) is the element of lane l, or where it lies.
std::string gather_text(DType dtype) {
  return fmt::format(R"(template <class At>
INLINE {0} gather_{1}(At at, Live live = all_lanes) {{
  alignas(64) {2} t[INGOT_LANES] = {{}};
  for (int l = 0; l < count(live); l++) t[l] = at(l);
  return load_{1}((const {2}*)t);
}}
)",
                     vector_type(lanes_of(dtype)), dtype_name(dtype), storage_type(dtype));
}

std::string scatter_text(DType dtype) {
  return fmt::format(R"(template <class At>
INLINE void scatter_{1}(At at, {0} v, Live live = all_lanes) {{
  alignas(64) {2} t[INGOT_LANES];
  store_{1}(t, v);
  for (int l = 0; l < count(live); l++) *at(l) = t[l];
}}
)",
                     vector_type(lanes_of(dtype)), dtype_name(dtype), storage_type(dtype));
}

// ---- the same for CUDA
constexpr std::string_view cuda_small_text = R"(
struct KernelReport {
  long number, value;
};
INLINE long min(long a, long b) { return a < b ? a : b; }
INLINE long divisor(long size) { return size < 1 ? 1 : size; }
INLINE I32 lane_numbers() {
  Pack<int> pack;
#pragma unroll
  for (int l = 0; l < INGOT_LANES; l++) set_element(pack, l, l);
  return lanes_i32(pack);
}
INLINE int lane_limit(long n) { return n < 0 ? 0 : n > INGOT_LANES ? INGOT_LANES : (int)n; }
INLINE M32 lanes_between(long first, long end) {  // first <= lane < end
  return (lane_numbers() >= lane_limit(first)) & (lane_numbers() < lane_limit(end));
}
)";

std::string cuda_gather_text(DType dtype) {
  return fmt::format(R"(template <class At>
INLINE {0} gather_{1}(At at, Live live = all_lanes) {{
  Pack<{2}> pack = {{}};
#pragma unroll
  for (int l = 0; l < INGOT_LANES; l++) {{
    if (live >> l & 1) set_element(pack, l, at(l));
  }}
  return lanes_{1}(pack);
}}
)",
                     vector_type(lanes_of(dtype)), dtype_name(dtype), storage_type(dtype));
}

std::string cuda_scatter_text(DType dtype) {
  return fmt::format(R"(template <class At>
INLINE void scatter_{1}(At at, {0} v, Live live = all_lanes) {{
  Pack<{2}> pack = pack_{1}(v);
#pragma unroll
  for (int l = 0; l < INGOT_LANES; l++) {{
    if (live >> l & 1) *at(l) = element(pack, l);
  }}
}}
)",
                     vector_type(lanes_of(dtype)), dtype_name(dtype), storage_type(dtype));
}

// What the kernels of a unit need, each part once.
struct Parts {
  std::set<std::string> sections, functions, words;
  std::string routines, kernels;

  explicit Parts(std::span<const KernelSource* const> sources) {
    std::set<std::string_view> known;
    for (const KernelSource* source : sources) {
      if (!known.insert(source->text).second) continue;
      kernels += fmt::format("\n{}", source->text);
      sections.insert(source->sections.begin(), source->sections.end());
      functions.insert(source->functions.begin(), source->functions.end());
      for (std::string& word : words_of(source->text)) words.insert(std::move(word));
    }
  }
  template <class Gather, class Scatter>
  void add_routines(std::string common, bool cuda, const Gather& gather, const Scatter& scatter) {
    routines = std::move(common);
    for (const Routine& routine : all_routines) {
      if (!words.contains(std::string(routine.name))) continue;
      routines += cuda ? routine.cuda.value_or(routine.text) : routine.text;
    }
    for (DType dtype : all_dtypes) {
      if (words.contains(fmt::format("gather_{}", dtype_name(dtype)))) routines += gather(dtype);
      if (words.contains(fmt::format("scatter_{}", dtype_name(dtype)))) routines += scatter(dtype);
    }
    sections.merge(device::sections_used(routines));
  }
};

}  // namespace

std::string vocabulary_text() {
  std::string text = device::vector_prelude(device::all_sections());
  text += fmt::format("{}{}", call_text, small_text);
  for (const Routine& routine : all_routines) text += routine.text;
  for (DType dtype : all_dtypes) text += gather_text(dtype) + scatter_text(dtype);
  text += device::cuda_prelude(device::all_sections(), 2);
  text += cuda_small_text;
  return text;
}

std::string translation_unit(std::span<const KernelSource* const> kernels) {
  std::vector<std::string> numbers;
  for (int lane = 0; lane < vector_lanes; lane++) numbers.push_back(std::to_string(lane));
  Parts parts(kernels);
  parts.add_routines(
      fmt::format("TABLE int lane_table[] = {{{}}};{}", join(numbers, ", "), small_text), false,
      gather_text, scatter_text);
  return fmt::format("{}\n{}\n{}\n{}{}", call_text,
                     device::vector_prelude(parts.sections, vector_lanes),
                     device::library_text(parts.functions), parts.routines, parts.kernels);
}

std::string cuda_unit(std::span<const KernelSource* const> kernels) {
  INGOT_CHECK(!kernels.empty(), "a CUDA unit without kernels");
  Parts parts(kernels);
  parts.add_routines(std::string(cuda_small_text), true, cuda_gather_text, cuda_scatter_text);
  return fmt::format("namespace ingot {{\n{}\n{}\n{}{}}}  // namespace ingot\n",
                     device::cuda_prelude(parts.sections, kernels[0]->lanes),
                     device::library_text(parts.functions), parts.routines, parts.kernels);
}

std::string cuda_unit_without_bounds(std::span<const KernelSource* const> kernels) {
  constexpr std::string_view bounds = "__launch_bounds__(";
  std::string text = cuda_unit(kernels);
  for (size_t at = text.find(bounds); at != text.npos; at = text.find(bounds, at)) {
    text.erase(at, text.find(')', at) + 1 - at);
  }
  return text;
}

}  // namespace ingot
