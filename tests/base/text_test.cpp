// The text cursor and its messages literally, numbers, names, the writer, files, errors.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include "base/text.h"

namespace ingot {
namespace {

template <class F>
std::string rendered(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.rendered();
  }
  return "no error";
}

TEST(Cursor, TokensAndComments) {
  Cursor c("f", "graph g.x(a: f32[2]) # comment\n -> `odd name` \"text\\n\\\"q\\\"\"");
  EXPECT_TRUE(c.accept("graph"));
  EXPECT_FALSE(c.peek("g")) << "a word is whole";
  EXPECT_EQ(c.identifier("a name"), "g.x");
  c.expect("(");
  EXPECT_EQ(c.identifier("a name"), "a");
  c.expect(":");
  EXPECT_TRUE(c.accept("f32"));
  c.expect("[");
  EXPECT_EQ(c.number("a size").integer, 2);
  c.expect("]");
  c.expect(")");
  EXPECT_TRUE(c.accept("->"));
  EXPECT_EQ(c.location().line, 2);
  EXPECT_EQ(c.identifier("a name"), "odd name");
  EXPECT_EQ(c.string_literal("a text"), "text\n\"q\"");
  EXPECT_TRUE(c.at_end());
  EXPECT_TRUE(c.at_end());
}

TEST(Cursor, Messages) {
  EXPECT_EQ(rendered([] {
              Cursor c("a.ingot", "graph g(\n\tx f32");
              c.expect("graph");
              c.identifier("a name");
              c.expect("(");
              c.identifier("a name");
              c.expect(":");
            }),
            "a.ingot:2:4: error: expected ':', got 'f32'\n\tx f32\n\t  ^");
  EXPECT_EQ(rendered([] { Cursor("f", "  ").expect("{"); }),
            "f:1:3: error: expected '{', got end of text\n  \n  ^");
  EXPECT_EQ(rendered([] { Cursor("f", "\xC3\xA9=1").identifier("a name"); }),
            "f:1:1: error: expected a name, got '\xC3\xA9'\n\xC3\xA9=1\n^");
  EXPECT_EQ(rendered([] { Cursor("f", "12abc").number("a number"); }),
            "f:1:1: error: malformed number '12abc'\n12abc\n^");
  EXPECT_EQ(rendered([] { Cursor("f", "9223372036854775808").number("a number"); }),
            "f:1:1: error: integer 9223372036854775808 does not fit in 64 bits\n"
            "9223372036854775808\n^");
  EXPECT_EQ(rendered([] { Cursor("f", "\"abc").string_literal("a text"); }),
            "f:1:1: error: a text has no closing \"\n\"abc\n^");
  EXPECT_EQ(rendered([] { Cursor("f", "`a\nb`").identifier("a name"); }),
            "f:1:1: error: a name has no closing `\n`a\n^");
}

TEST(Cursor, SkipsAByteOrderMarkAtTheStart) {
  EXPECT_EQ(Cursor("f", "\xEF\xBB\xBFname").identifier("a name"), "name");
  EXPECT_EQ(rendered([] { Cursor("f", "\xEF\xBB\xBF=").identifier("a name"); }),
            "f:1:1: error: expected a name, got '='\n=\n^");
  EXPECT_THROW(Cursor("f", " \xEF\xBB\xBFname").identifier("a name"), Error);
}

TEST(Cursor, Numbers) {
  const auto read = [](const char* text) { return Cursor("f", text).number("a number"); };
  EXPECT_EQ(read("-9223372036854775808").integer, INT64_MIN);
  EXPECT_EQ(read("0x10").integer, 16);
  EXPECT_TRUE(read("7").is_integer);
  EXPECT_FALSE(read("7.").is_integer);
  EXPECT_EQ(read("7").real, 7.0);
  EXPECT_EQ(read("0x1.8p-3").real, 0x1.8p-3);
  // Beyond f64: infinity or zero, as beyond f32 for f32.
  const std::string zeros(400, '0');
  for (const std::string& text :
       {std::string("1e309"), std::string("0x1p+5000"), "1" + zeros + ".0",
        std::string("0.001e400"), std::string("1e99999999999999999999")}) {
    EXPECT_EQ(read(text.c_str()).real, HUGE_VAL) << text;
    EXPECT_EQ(read(("-" + text).c_str()).real, -HUGE_VAL) << text;
  }
  for (const std::string& text :
       {std::string("1e-400"), std::string("0x1p-5000"), "0." + zeros + "1",
        std::string("100e-400"), std::string("1e-99999999999999999999")}) {
    EXPECT_EQ(read(text.c_str()).real, 0) << text;
    EXPECT_TRUE(std::signbit(read(("-" + text).c_str()).real)) << text;
  }
  EXPECT_EQ(read("-1e-05").real, -1e-5);
  EXPECT_EQ(read(".5").real, 0.5);
  EXPECT_TRUE(std::signbit(read("-0").real));
  EXPECT_EQ(read("-inf").real, -std::numeric_limits<double>::infinity());
  EXPECT_NE(read("nan").real, read("nan").real);
  EXPECT_FALSE(Cursor("f", "infinite").at_number());
  EXPECT_FALSE(Cursor("f", "-x").at_number());
  Cursor subtraction("f", "1-2");
  EXPECT_EQ(subtraction.number("a number").integer, 1);
  EXPECT_EQ(subtraction.number("a number").integer, -2);
}

TEST(Text, NumbersReadBackExactly) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; i++) {
    const double value = std::bit_cast<double>(random());
    const float narrow = std::bit_cast<float>(static_cast<uint32_t>(random()));
    const double back = Cursor("f", number_text(value)).number("a number").real;
    const double narrow_back = Cursor("f", number_text(narrow)).number("a number").real;
    if (value == value) {
      ASSERT_EQ(std::bit_cast<uint64_t>(back), std::bit_cast<uint64_t>(value));
    }
    if (narrow == narrow) {
      ASSERT_EQ(static_cast<float>(narrow_back), narrow);
    }
  }
  EXPECT_EQ(number_text(0.5), "0.5");
  EXPECT_EQ(number_text(1e-5), "1e-05");
  EXPECT_EQ(number_text(0.1f), "0.1");
  EXPECT_EQ(number_text(-0.0), "-0");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(number_text(1e300).find_first_not_of("0123456789"), 1u) << "no integer beyond 64 bits";
}

TEST(Text, NamesAndStringsReadBack) {
  for (const std::string name : {"x", "a b", "_1.y", "1x", "", "a.", "inf", "nan", "`tick`", "a\\b",
                                 "new\nline", "\x01\x7f", "\xC3\xA9"}) {
    const std::string in_ticks = quoted_name(name), in_quotes = quoted_string(name);
    Cursor quoted("f", in_ticks), string("f", in_quotes);
    EXPECT_EQ(quoted.identifier("a name"), name);
    EXPECT_TRUE(quoted.at_end()) << name;
    EXPECT_EQ(string.string_literal("a text"), name);
    EXPECT_TRUE(string.at_end()) << name;
  }
  EXPECT_EQ(quoted_name("x.y"), "x.y");
  EXPECT_EQ(quoted_name("x y"), "`x y`");
}

TEST(Writer, Indents) {
  Writer w;
  w.open("a {");
  w.line("b");
  w.line("");
  w.close();
  EXPECT_EQ(w.take(), "a {\n  b\n\n}\n");
}

TEST(Errors, Rendering) {
  const Error error(ErrorKind::unsupported, "no such op", {"m.onnx", 0, 0, "", "conv_1"}, {"why"});
  EXPECT_EQ(error.rendered(), "m.onnx: node 'conv_1': unsupported: no such op\nnote: why");
  EXPECT_STREQ(error.what(), error.rendered().c_str());
  EXPECT_EQ(error.at({"other", 1, 1, "", ""}).location().file, "m.onnx") << "the first one stays";
  EXPECT_EQ(error.with_note("more").notes().size(), 2u);
  EXPECT_EQ(rendered([] { fail_internal("pass", "broken"); }), "internal error: pass: broken");
  EXPECT_EQ(rendered([] { INGOT_CHECK(1 > 2, "{} it is", 3); }).find("internal error: text_test"),
            0u);
}

TEST(Files, WholeOrNotAtAll) {
  const std::string folder = testing::TempDir() + "ingot_text_test";
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/file";
  write_file(path, std::string("a\0b", 3));
  write_file_parts(path, {"one", "", "two"});
  EXPECT_EQ(read_file(path), "onetwo");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "no temporary";
  EXPECT_EQ(rendered([&] { read_file(folder + "/none"); }),
            "error: cannot read '" + folder + "/none': No such file or directory");
  EXPECT_EQ(rendered([&] { write_file(folder + "/none/x", ""); }),
            "error: cannot write '" + folder + "/none/x': No such file or directory");
  EXPECT_EQ(rendered([&] { read_file(folder); }),
            "error: cannot read '" + folder + "': Is a directory");
  EXPECT_NO_THROW(write_file("/dev/null", "into the void"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ingot
