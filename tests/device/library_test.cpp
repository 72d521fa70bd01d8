// What library_text and vector_prelude hand out.
#include "device/library.h"

#include <gtest/gtest.h>

namespace ingot::device {
namespace {

size_t count(std::string_view text, std::string_view what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) n++;
  return n;
}

TEST(Library, GivesAFunctionWithAllThatItCallsOnce) {
  std::string text = library_text({"silu.f32", "sigmoid.f32"});
  EXPECT_EQ(count(text, "INLINE F32 silu(F32"), 1u);
  EXPECT_EQ(count(text, "INLINE F32 sigmoid(F32"), 1u);
  EXPECT_EQ(count(text, "INLINE F32 exp_tail(F32"), 1u);
  EXPECT_LT(text.find("exp_tail(F32"), text.find("sigmoid(F32"));
  EXPECT_EQ(count(text, "F64"), 0u);
  EXPECT_EQ(count(text, "tanh"), 0u);
}

TEST(Library, AFunctionWithoutTypeHasEveryOverload) {
  std::string text = library_text({"exp"});
  EXPECT_EQ(count(text, "INLINE F32 exp(F32"), 1u);
  EXPECT_EQ(count(text, "INLINE F64 exp(F64"), 1u);
}

TEST(Library, TablesAndSlowPathsComeAlong) {
  std::string text = library_text({"sin.f32"});
  EXPECT_EQ(count(text, "TABLE long two_over_pi"), 1u);
  EXPECT_EQ(count(text, "SLOW void trig_far(double"), 1u);
  EXPECT_EQ(sections_used(text), std::set<std::string>());
}

TEST(Library, UnknownNamesAreIgnored) {
  EXPECT_EQ(library_text({"fma", "no_such_function"}), "");
  EXPECT_TRUE(has_function("gelu_tanh"));
  EXPECT_TRUE(has_function("div_trunc"));
  EXPECT_FALSE(has_function("fma"));
}

TEST(Library, SectionsFollowTheNamesInUse) {
  EXPECT_EQ(sections_used("store_f32(y, load_f32(x))"), std::set<std::string>());
  EXPECT_EQ(sections_used("store_bf16(y, to_f32(load_f64(x)))"),
            std::set<std::string>({"bf16", "f64"}));
  EXPECT_EQ(sections_used("stream_f32(y, select(load_bool(m), a, b))"),
            std::set<std::string>({"stream", "u8"}));
  EXPECT_EQ(count(vector_prelude({}), "f64v fma("), 0u);
  EXPECT_EQ(count(vector_prelude({"f64"}), "f64v fma("), 3u);  // AVX-512, AVX2, any
  EXPECT_EQ(count(vector_prelude({}, 64), "#define INGOT_LANES 64"), 1u);
}

}  // namespace
}  // namespace ingot::device
