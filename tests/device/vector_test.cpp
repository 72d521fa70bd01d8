// The same text as lanes: every function and primitive compiled by the system's g++ for three kinds
// of machine must give the bits of the scalar build, and tails must touch nothing beyond them.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "device/functions.h"
#include "device/library.h"

namespace ingot::testing {
namespace {

struct Machine {
  const char* name;
  const char* compiler;
  const char* flags;
  int lanes;
  bool f64_functions;  // without them the slowest compilation takes half the time
};

const Machine machines[] = {
    {"native", "g++", "-march=native", 16, true},
    {"native_64_lanes", "g++", "-march=native", 64, true},
    {"avx2", "g++", "-mavx2 -mfma -mno-avx512f", 16, true},
    {"sse2", "g++", "-march=x86-64", 16, false},
    {"clang_avx2", "clang++", "-mavx2 -mfma -mno-avx512f", 16, false},
};

// Entry TYPE_NAME: y[i] = name(a[i]), or name(a[i], b[i]), for all i.
std::string entry_text(const char* type, const char* element, const char* name, int operands) {
  std::string e = element, load = std::string("load_") + type;
  std::string call =
      std::string(name) + "(" + load + "(a + i)" + (operands == 2 ? ", " + load + "(b + i))" : ")");
  return "extern \"C\" void " + std::string(type) + "_" + name + "(const " + e + "* a, const " + e +
         "* b, " + e + "* y, long n) {\n  (void)b;\n" +
         "  for (long i = 0; i < n; i += INGOT_LANES) store_" + type + "(y + i, " + call +
         ");\n}\n";
}

std::string conversion_text(const char* from, const char* from_element, const char* to,
                            const char* to_element) {
  return std::string("extern \"C\" void ") + from + "_to_" + to + "(const " + from_element +
         "* a, const void*, " + to_element + "* y, long n) {\n" +
         "  for (long i = 0; i < n; i += INGOT_LANES) store_" + to + "(y + i, to_" + to + "(load_" +
         from + "(a + i)));\n}\n";
}

#define FLOAT_PRIMITIVES(X) \
  X(floor) X(ceil) X(trunc) X(round_even) X(abs) X(sqrt) X(mantissa) X(exponent)
#define SHORTER_FUNCTIONS(X) \
  X(exp_short)               \
  X(sigmoid_short)           \
  X(silu_short) X(gelu_tanh_short) X(gelu_short) X(gelu_bf16) X(silu_bf16) X(gelu_tanh_bf16)
#define FLOAT_PRIMITIVES2(X) X(minimum) X(maximum) X(at_least) X(at_most) X(copysign)
#define INTEGER_FUNCTIONS(X) \
  X(div_trunc) X(mod_floor) X(shift_left) X(shift_right) X(minimum) X(maximum)

constexpr float table16[] = {1,  -2, 3.5f,  0,       5,  6,     7e-40f, 8,
                             -9, 10, 1e30f, -1e-30f, 13, -0.0f, 15,     16};

constexpr const char* narrow_text = R"(
TABLE float table16[16] = {1, -2, 3.5f, 0, 5, 6, 7e-40f, 8, -9, 10, 1e30f, -1e-30f, 13, -0.0f, 15, 16};
extern "C" void round_bf16_f32(const float* a, const float*, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, round_bf16(load_f32(a + i)));
}
extern "C" void lookup16_f32(const float* a, const float*, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, lookup16(table16, bits(load_f32(a + i))));
}
extern "C" void scale_f32(const float* a, const float* b, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) {
    F32 x = from_bits((bits(load_f32(a + i)) & 0x7fffff) | 0x3f800000);
    F32 k = load_f32(b + i);
    store_f32(y + i, scale(x, select(k == k, k, 0.0f)));
  }
}
extern "C" void any_below_f32(const float* a, const float*, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) {
    store_f32(y + i, splat_f32(any_below(load_f32(a + i), -87.0f) ? 1.0f : 0.0f));
  }
}
extern "C" void round_f16_f32(const float* a, const float*, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, round_f16(load_f32(a + i)));
}
extern "C" void copy_all(const unsigned char* from, unsigned char* to, int n) {
  const Live live = first_lanes(n);
#define COPY(T, name) store_##name((T*)to, load_##name((const T*)from, live), live), from += 16 * 64, to += 16 * 64;
  COPY(float, f32) COPY(int, i32) COPY(double, f64) COPY(long, i64)
  COPY(unsigned char, u8) COPY(unsigned short, bf16) COPY(unsigned short, f16) COPY(unsigned char, bool)
}
extern "C" void copy_streamed(const unsigned char* from, unsigned char* to) {
#define STREAM(T, name) stream_##name((T*)to, load_##name((const T*)from)), from += 1024, to += 1024;
  STREAM(float, f32) STREAM(int, i32) STREAM(double, f64) STREAM(long, i64)
  STREAM(unsigned short, bf16) STREAM(unsigned short, f16)
  stream_fence();
}
// The lanes behind a tail hold constants, of which the compiler may compute conversions itself.
extern "C" void convert_reciprocals(const float* a, const double* b, int* y, long* z) {
  const Live live = first_lanes(2);
  store_i32(y, to_i32(1.0f / load_f32(a, live)), live);
  store_i64(z, to_i64(1.0f / load_f32(a, live)), live);
  store_i64(z + 2, to_i64(1.0 / load_f64(b, live)), live);
}
extern "C" void fold_f32(const float* a, float* y) {
  F32 v = load_f32(a);
  y[0] = lanes_sum(v), y[1] = lanes_prod(v), y[2] = lanes_max(v), y[3] = lanes_min(v);
}
extern "C" void fold_f64(const double* a, double* y) {
  F64 v = load_f64(a);
  y[0] = lanes_sum(v), y[1] = lanes_prod(v), y[2] = lanes_max(v), y[3] = lanes_min(v);
}
extern "C" void fold_i32(const int* a, int* y) {
  I32 v = load_i32(a);
  y[0] = lanes_sum(v), y[1] = lanes_prod(v), y[2] = lanes_max(v), y[3] = lanes_min(v);
}
extern "C" void fold_i64(const long* a, long* y) {
  I64 v = load_i64(a);
  y[0] = lanes_sum(v), y[1] = lanes_prod(v), y[2] = lanes_max(v), y[3] = lanes_min(v);
}
)";

std::string module_text(const Machine& machine) {
  std::set<std::string> functions;
  std::string text;
  auto add = [&](const char* name, int operands, bool f64) {
    functions.insert(f64 ? name : std::string(name) + ".f32");
    text += entry_text("f32", "float", name, operands);
    if (f64) text += entry_text("f64", "double", name, operands);
  };
#define ADD_UNARY(name) add(#name, 1, machine.f64_functions);
#define ADD_BINARY(name) add(#name, 2, machine.f64_functions);
#define ADD_PRIMITIVE(name) add(#name, 1, true);
#define ADD_PRIMITIVE2(name) add(#name, 2, true);
#define ADD_INTEGER(name)                     \
  functions.insert(#name);                    \
  text += entry_text("i32", "int", #name, 2); \
  text += entry_text("i64", "long", #name, 2);
  INGOT_UNARY(ADD_UNARY)
  INGOT_BINARY(ADD_BINARY)
#define ADD_SHORTER(name) add(#name, 1, false);
  SHORTER_FUNCTIONS(ADD_SHORTER)
  FLOAT_PRIMITIVES(ADD_PRIMITIVE)
  FLOAT_PRIMITIVES2(ADD_PRIMITIVE2)
  INTEGER_FUNCTIONS(ADD_INTEGER)
  const char* types[][2] = {{"f32", "float"}, {"f64", "double"}, {"i32", "int"}, {"i64", "long"}};
  for (auto& from : types) {
    for (auto& to : types) {
      if (&from != &to) text += conversion_text(from[0], from[1], to[0], to[1]);
    }
  }
  return device::vector_prelude(device::all_sections(), machine.lanes) +
         device::library_text(functions) + text + narrow_text;
}

class Vector : public ::testing::TestWithParam<Machine> {
 protected:
  // All modules are compiled at once, before the first test.
  static void SetUpTestSuite() {
    std::filesystem::path folder = std::filesystem::current_path() / "device_vector_test";
    std::filesystem::create_directories(folder);
    std::string command;
    for (const Machine& machine : machines) {
      if (!usable(machine).empty()) continue;
      std::string stem = (folder / machine.name).string();
      std::ofstream(stem + ".cpp") << module_text(machine);
      std::filesystem::remove(stem + ".so");
      command += std::string(machine.compiler) +
                 " -O1 -std=c++17 -w -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv "
                 "-fPIC -shared -nostdlib " +
                 machine.flags + " -o " + stem + ".so " + stem + ".cpp & ";
    }
    EXPECT_EQ(std::system((command + "wait").c_str()), 0);
    for (const Machine& machine : machines) {
      if (!usable(machine).empty()) continue;
      void* handle = dlopen((folder / machine.name).concat(".so").c_str(), RTLD_NOW | RTLD_LOCAL);
      EXPECT_NE(handle, nullptr) << dlerror();
      modules()[machine.name] = handle;
    }
  }

  static std::map<std::string, void*>& modules() {
    static std::map<std::string, void*> handles;
    return handles;
  }

  // Why a module cannot run here; empty if it can.
  static std::string usable(const Machine& machine) {
    std::string find = std::string("command -v ") + machine.compiler + " > /dev/null";
    if (std::system(find.c_str()) != 0) return std::string("there is no ") + machine.compiler;
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool needs_avx2 = std::string_view(machine.flags).find("avx2") != std::string_view::npos;
    return needs_avx2 && !avx2 ? "this machine has no AVX2" : "";
  }

  void SetUp() override {
    std::string reason = usable(GetParam());
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

  template <class F>
  F* entry(const std::string& name) {
    void* found = dlsym(modules()[GetParam().name], name.c_str());
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<F*>(found);
  }
};

// A third any bits, a third values worth trying, a third moderate ones.
template <class T>
std::vector<T> inputs(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(n);
  for (T& v : values) {
    uint64_t bits = random();
    if (bits % 3 == 0) {
      bits = random();
      std::memcpy(&v, &bits, sizeof(T));
    } else if constexpr (std::is_integral_v<T>) {
      constexpr T special[] = {0,
                               1,
                               -1,
                               2,
                               3,
                               31,
                               32,
                               63,
                               64,
                               std::numeric_limits<T>::max(),
                               std::numeric_limits<T>::min(),
                               16777217,
                               -100};
      v = bits % 3 == 1 ? special[bits / 3 % std::size(special)] : static_cast<T>(bits >> 40) - 100;
    } else {
      constexpr T inf = std::numeric_limits<T>::infinity();
      const T special[] = {0,
                           -T(0),
                           1,
                           -1,
                           T(0.5),
                           inf,
                           -inf,
                           std::numeric_limits<T>::quiet_NaN(),
                           std::numeric_limits<T>::denorm_min(),
                           -std::numeric_limits<T>::min() / 3,
                           std::numeric_limits<T>::max(),
                           T(88.7),
                           T(-104),
                           T(2147483648.0),
                           T(65520),
                           T(1e6),
                           T(-3e9),
                           T(0.55),
                           T(1.5),
                           T(1e19),
                           -T(9.2e18),
                           T(710),
                           T(-745)};
      T moderate = static_cast<T>(static_cast<double>(static_cast<int64_t>(random())) * 0x1p-60);
      v = bits % 3 == 1 ? special[bits / 3 % std::size(special)] : moderate;
    }
  }
  return values;
}

template <class T>
bool same_bits(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a && b != b) return true;
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class To, class From, class F, class G>
void compare(const std::string& name, F* vector, G scalar) {
  ASSERT_NE(vector, nullptr);
  constexpr size_t n = 8192;
  std::vector<From> a = inputs<From>(n, 1), b = inputs<From>(n, 2);
  std::vector<To> y(n);
  vector(a.data(), b.data(), y.data(), n);
  for (size_t i = 0; i < n; i++) {
    To want = scalar(a[i], b[i]);
    ASSERT_TRUE(same_bits(y[i], want))
        << name << "(" << +a[i] << ", " << +b[i] << ") = " << +y[i] << ", scalar " << +want;
  }
}

template <class T, class To = T>
using Kernel = void(const T*, const T*, To*, long);

TEST_P(Vector, FunctionsHaveTheBitsOfTheScalarBuild) {
#define COMPARE1(name)                                                   \
  compare<float, float>(#name, entry<Kernel<float>>("f32_" #name),       \
                        [](float a, float) { return scalar::name(a); }); \
  if (f64)                                                               \
    compare<double, double>(#name, entry<Kernel<double>>("f64_" #name),  \
                            [](double a, double) { return scalar::name(a); });
#define COMPARE2(name)                                                        \
  compare<float, float>(#name, entry<Kernel<float>>("f32_" #name),            \
                        [](float a, float b) { return scalar::name(a, b); }); \
  if (f64)                                                                    \
    compare<double, double>(#name, entry<Kernel<double>>("f64_" #name),       \
                            [](double a, double b) { return scalar::name(a, b); });
  bool f64 = GetParam().f64_functions;
  INGOT_UNARY(COMPARE1)
  INGOT_BINARY(COMPARE2)
#define COMPARE_SHORTER(name)                                      \
  compare<float, float>(#name, entry<Kernel<float>>("f32_" #name), \
                        [](float a, float) { return scalar::name(a); });
  SHORTER_FUNCTIONS(COMPARE_SHORTER)
}

TEST_P(Vector, PrimitivesHaveTheBitsOfTheScalarBuild) {
  bool f64 = true;
  FLOAT_PRIMITIVES(COMPARE1)
  FLOAT_PRIMITIVES2(COMPARE2)
  compare<float, float>("round_bf16", entry<Kernel<float>>("round_bf16_f32"),
                        [](float a, float) { return scalar::round_bf16(a); });
  compare<float, float>("round_f16", entry<Kernel<float>>("round_f16_f32"),
                        [](float a, float) { return scalar::round_f16(a); });
}

TEST_P(Vector, LookupAndScaleHaveTheBitsOfTheScalarBuild) {
  compare<float, float>("lookup16", entry<Kernel<float>>("lookup16_f32"),
                        [](float a, float) { return scalar::lookup16(table16, scalar::bits(a)); });
  compare<float, float>("scale", entry<Kernel<float>>("scale_f32"), [](float a, float b) {
    return scalar::scale(scalar::from_bits((scalar::bits(a) & 0x7fffff) | 0x3f800000),
                         b == b ? b : 0.0f);
  });
}

// One lane decides for all, wherever it is and whatever the others hold.
TEST_P(Vector, AnyBelowFindsASingleLane) {
  auto* any_below = entry<Kernel<float>>("any_below_f32");
  ASSERT_NE(any_below, nullptr);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto lanes = static_cast<size_t>(GetParam().lanes);
  for (float others : {0.0f, -87.0f, 1e30f, nan}) {
    for (size_t lane = 0; lane <= lanes; lane++) {
      std::vector<float> a(lanes, others), y(lanes);
      if (lane < lanes) a[lane] = -87.5f;
      any_below(a.data(), a.data(), y.data(), static_cast<long>(lanes));
      EXPECT_EQ(y[0], lane < lanes ? 1.0f : 0.0f) << others << " " << lane;
    }
  }
}

TEST_P(Vector, IntegerFunctionsHaveTheBitsOfTheScalarBuild) {
#define COMPARE_INTEGER(name)                                         \
  compare<int, int>(#name, entry<Kernel<int>>("i32_" #name),          \
                    [](int a, int b) { return scalar::name(a, b); }); \
  compare<long, long>(#name, entry<Kernel<long>>("i64_" #name),       \
                      [](long a, long b) { return scalar::name(a, b); });
  INTEGER_FUNCTIONS(COMPARE_INTEGER)
}

TEST_P(Vector, ConversionsHaveTheBitsOfTheScalarBuild) {
#define COMPARE_CONVERSION(From, from, To, to)                                   \
  compare<To, From>(#from " to " #to, entry<Kernel<From, To>>(#from "_to_" #to), \
                    [](From a, From) { return scalar::to_##to(a); });
  COMPARE_CONVERSION(float, f32, double, f64)
  COMPARE_CONVERSION(float, f32, int, i32)
  COMPARE_CONVERSION(float, f32, long, i64)
  COMPARE_CONVERSION(double, f64, float, f32)
  COMPARE_CONVERSION(double, f64, int, i32)
  COMPARE_CONVERSION(double, f64, long, i64)
  COMPARE_CONVERSION(int, i32, float, f32)
  COMPARE_CONVERSION(int, i32, double, f64)
  COMPARE_CONVERSION(int, i32, long, i64)
  COMPARE_CONVERSION(long, i64, float, f32)
  COMPARE_CONVERSION(long, i64, double, f64)
  COMPARE_CONVERSION(long, i64, int, i32)
}

// g++ 13 took its own value of a constant's conversion, that of infinity, for the instruction's.
TEST_P(Vector, ConversionsSaturateBesideConstants) {
  auto* convert = entry<void(const float*, const double*, int*, long*)>("convert_reciprocals");
  ASSERT_NE(convert, nullptr);
  const float a[] = {0, -0.0f};
  const double b[] = {0, -0.0};
  int y[2];
  long z[4];
  convert(a, b, y, z);
  EXPECT_EQ(y[0], std::numeric_limits<int>::max());
  EXPECT_EQ(y[1], std::numeric_limits<int>::min());
  for (const int at : {0, 2}) {
    EXPECT_EQ(z[at], std::numeric_limits<long>::max());
    EXPECT_EQ(z[at + 1], std::numeric_limits<long>::min());
  }
}

TEST_P(Vector, TailsCopyTheirLanesAndNothingElse) {
  auto* copy = entry<void(const unsigned char*, unsigned char*, int)>("copy_all");
  ASSERT_NE(copy, nullptr);
  constexpr int slot = 16 * 64;
  const int widths[] = {4, 4, 8, 8, 1, 2, 2, 1};
  std::vector<unsigned char> from(8 * slot), to(8 * slot), want(8 * slot);
  for (size_t i = 0; i < from.size(); i++)
    from[i] = static_cast<unsigned char>((i * 7 + i / 256) % 60);
  for (int i = 0; i < slot; i++) from[static_cast<size_t>(7 * slot + i)] &= 1;
  for (int n = 0; n <= GetParam().lanes; n++) {
    std::fill(to.begin(), to.end(), 0xaa);
    std::fill(want.begin(), want.end(), 0xaa);
    for (int s = 0; s < 8; s++) {
      std::copy_n(from.begin() + s * slot, n * widths[s], want.begin() + s * slot);
    }
    copy(from.data(), to.data(), n);
    EXPECT_EQ(to, want) << n << " lanes";
  }
}

TEST_P(Vector, StreamedStoresArrive) {
  auto* copy = entry<void(const unsigned char*, unsigned char*)>("copy_streamed");
  ASSERT_NE(copy, nullptr);
  alignas(512) static unsigned char from[6 * 1024], to[6 * 1024], want[6 * 1024];
  const int widths[] = {4, 4, 8, 8, 2, 2};
  for (size_t i = 0; i < sizeof(from); i++) from[i] = static_cast<unsigned char>(i * 7 % 60);
  std::memset(to, 0, sizeof(to));
  std::memset(want, 0, sizeof(want));
  for (int s = 0; s < 6; s++) {
    std::memcpy(want + 1024 * s, from + 1024 * s,
                static_cast<size_t>(GetParam().lanes * widths[s]));
  }
  copy(from, to);
  EXPECT_EQ(std::memcmp(want, to, sizeof(to)), 0);
}

// Halves combined until one number is left.
template <class T, class F>
T fold(std::vector<T> v, F f) {
  for (size_t half = v.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; i++) v[i] = f(v[i], v[i + half]);
  }
  return v[0];
}

template <class T, class F>
void check_folds(F* folds, int lanes) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  ASSERT_NE(folds, nullptr);
  for (uint64_t seed = 0; seed < 200; seed++) {
    std::vector<T> v = inputs<T>(static_cast<size_t>(lanes), seed);
    T y[4];
    folds(v.data(), y);
    auto plus = [](T a, T b) {
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(Bits(a) + Bits(b));
      else
        return a + b;
    };
    auto times = [](T a, T b) {
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(Bits(a) * Bits(b));
      else
        return a * b;
    };
    EXPECT_TRUE(same_bits(y[0], fold(v, plus)));
    EXPECT_TRUE(same_bits(y[1], fold(v, times)));
    EXPECT_TRUE(same_bits(y[2], fold(v, [](T a, T b) { return scalar::maximum(a, b); })));
    EXPECT_TRUE(same_bits(y[3], fold(v, [](T a, T b) { return scalar::minimum(a, b); })));
  }
}

TEST_P(Vector, LanesAreFoldedByHalves) {
  int lanes = GetParam().lanes;
  check_folds<float>(entry<void(const float*, float*)>("fold_f32"), lanes);
  check_folds<double>(entry<void(const double*, double*)>("fold_f64"), lanes);
  check_folds<int>(entry<void(const int*, int*)>("fold_i32"), lanes);
  check_folds<long>(entry<void(const long*, long*)>("fold_i64"), lanes);
}

INSTANTIATE_TEST_SUITE_P(Machines, Vector, ::testing::ValuesIn(machines),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace ingot::testing
