// docs/ops.md and include/ingot/ops.h are what the op table says. INGOT_UPDATE_EXPECTED=1 rewrites
// them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "op/op.h"
#include "op/op_docs.h"

namespace ingot {
namespace {

void compare(const std::string& file, const std::string& wanted) {
  const std::string path = std::string(INGOT_SOURCE_DIR) + "/" + file;
  if (std::getenv("INGOT_UPDATE_EXPECTED") != nullptr) write_file(path, wanted);
  EXPECT_TRUE(read_file(path) == wanted)
      << file << " is not what src/op/ops.def says; run this test with INGOT_UPDATE_EXPECTED=1";
}

TEST(OpDocs, Markdown) { compare("docs/ops.md", ops_markdown()); }
TEST(OpDocs, Header) { compare("include/ingot/ops.h", ops_header()); }

TEST(OpDocs, TextNamesEveryOp) {
  const std::string text = ops_text();
  for (const OpInfo& info : all_ops()) {
    if (info.op == Op::input || info.op == Op::constant) continue;
    EXPECT_NE(text.find(fmt::format("  {}(", info.name)), std::string::npos) << info.name;
  }
}

}  // namespace
}  // namespace ingot
