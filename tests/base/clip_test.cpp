// Long lines in errors: a part around the place, of whole characters.
#include "base/clip.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace ingot {
namespace {

TEST(Clip, ShortLinesStayAsTheyAre) {
  const ClippedLine clipped = clipped_line("  y = sofmax(x)", 7);
  EXPECT_EQ(clipped.text, "  y = sofmax(x)");
  EXPECT_EQ(clipped.column, 7u);
}

TEST(Clip, TheColumnStandsAtTheSameCharacter) {
  std::string line(5000, '.');
  for (const size_t column : {1u, 2u, 99u, 101u, 150u, 2500u, 4899u, 4999u, 5000u}) {
    line[column - 1] = 'X';
    const ClippedLine clipped = clipped_line(line, column);
    ASSERT_LE(clipped.text.size(), longest_shown_line + 6) << column;
    EXPECT_EQ(clipped.text.at(clipped.column - 1), 'X') << column;
    line[column - 1] = '.';
  }
  EXPECT_EQ(clipped_line(line, 5001).text.substr(0, 3), "...");  // the end of the line
}

TEST(Clip, CharactersStayWhole) {
  for (size_t shift = 0; shift < 3; ++shift) {
    std::string line(shift, 'a');
    for (int i = 0; i < 1000; ++i) line += "\u20ac";
    for (const size_t column : {1u, 500u, 1501u, 3000u}) {
      std::string text = clipped_line(line, column).text;
      while (text.starts_with("...")) text.erase(0, 3);
      while (text.ends_with("...")) text.erase(text.size() - 3);
      text.erase(0, text.find_first_not_of('a'));
      EXPECT_EQ(text.size() % 3, 0u) << shift << " " << column;
      EXPECT_EQ(text.substr(0, 3), "\u20ac") << shift << " " << column;
    }
  }
}

TEST(Clip, ErrorsShowAPartOfALongLine) {
  const Error error(ErrorKind::input, "no",
                    {"long.ingot", 1, 70001, std::string(70000, ' ') + "f(x)", ""});
  EXPECT_LT(error.rendered().size(), 600u);
  EXPECT_NE(error.rendered().find("f(x)"), std::string::npos);
}

}  // namespace
}  // namespace ingot
