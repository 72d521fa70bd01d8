// Text of the loop IR: what is printed reads back to the same kernel.
#include <gtest/gtest.h>

#include "base/error.h"
#include "loop/loop.h"

namespace ingot::loop {
namespace {

constexpr std::string_view every_statement =
    R"(kernel all(x: bf16[64*B] in node 3, `a b`: i64[B] in, y: bf16[64*B] out node 7, w: f32[B] workspace) sizes(B, `n m`) {
  comment "first \"line\""
  comment "second"
  scratch row: f32[8192]
  thread_elements 2
  all_registers
  most_registers 64
  report "gather ids: an index is out of range"
  phase p in parallel(B) grain 4 {
    `for`: i64 = load `a b`[p]
    acc s: f32 = sum lanes 64
    for j in vector(64) {
      prefetch L1 x[j + 64*p + 512]
      prefetch L2 x[j + 64*p + 1024] share 4
      x0: bf16 = load x[64*for + j] if 0 <= for < B and 0 <= j - 3 < 61 else -1.5 report 0
      i: i32 = index 4*j + p
      m: bool = within 0 <= j - 3 < 61 report 0
      t: bf16 = add(x0, 0.5)
      u: bool = lt(2: f32, 3: f32)
      v: bf16 = elu(t, alpha=0.1)
      g: bf16 = gelu(v) form bf16
      c: f32 = cast(v)
      k: f32 = select(m, c, inf)
      z: f32 = select(1, k, -0)
      s sum= z
      s sum= 1
    }
    r: bf16 = finish s
    for k2 in serial(min(4, B)) {
      stream y[k2 % 4 + k2 / 8 + 64*p] = r
    }
    store w[p] = nan
  }
  phase q in parallel(1) grain 1 {
    transpose row[8] by 80 = w[q] by B rows 4 columns min(4, B)
    product matmul f32 row[0] = w[0] * w[4*q] sizes m=8, n=`n m`, `for`=8*B
    fetch row[64*(q % 2)] = w[q] count min(4, B)
    await 1
    one: f32 = load row[0]
    acc more: f32 = max(one) lanes 1
  }
}
)";

TEST(LoopText, EveryStatementReadsBack) {
  std::string text(every_statement);
  // `u` takes its literals' dtypes as stated; select's mask is bool without saying.
  Kernel kernel = parse_kernel(text, "<test>");
  EXPECT_EQ(print(kernel), text);
  EXPECT_EQ(print(parse_kernel(print(kernel), "<again>")), print(kernel));
}

TEST(LoopText, FieldsAreRead) {
  Kernel kernel = parse_kernel(every_statement, "<test>");
  EXPECT_EQ(kernel.comment, "first \"line\"\nsecond");
  ASSERT_EQ(kernel.params.size(), 4u);
  EXPECT_EQ(kernel.params[0].value, 3);
  EXPECT_EQ(kernel.params[1].name, "a b");
  EXPECT_EQ(kernel.params[1].value, -1);
  EXPECT_EQ(kernel.params[2].role, Role::output);
  EXPECT_EQ(kernel.params[3].role, Role::workspace);
  EXPECT_EQ(kernel.sizes, (std::vector<std::string>{"B", "n m"}));
  EXPECT_EQ(kernel.phases[0].grain, 4);
  const auto& loop = *std::get<std::shared_ptr<Loop>>(kernel.phases[0].body[2]);
  EXPECT_EQ(loop.kind, LoopKind::vector);
  const auto& hint = std::get<Prefetch>(loop.body[1]);
  EXPECT_EQ(hint.level, 2);
  EXPECT_EQ(hint.share, 4);
  EXPECT_EQ(hint.index.text(), "j + 64*p + 1024");
  const auto& load = std::get<Load>(loop.body[2]);
  EXPECT_EQ(load.guards.size(), 2u);
  EXPECT_EQ(load.otherwise.real, -1.5);
  EXPECT_EQ(load.report, 0);
  const auto& index = std::get<IndexValue>(loop.body[3]);
  EXPECT_EQ(index.value.text(), "4*j + p");
  const auto& sum = std::get<Let>(loop.body[5]);
  EXPECT_EQ(sum.operand_dtypes, (std::vector<DType>{DType::bf16, DType::bf16}));
  const auto& compare = std::get<Let>(loop.body[6]);
  EXPECT_EQ(compare.operand_dtypes, (std::vector<DType>{DType::f32, DType::f32}));
  EXPECT_EQ(std::get<Let>(loop.body[7]).attrs, std::vector<double>{0.1});
  EXPECT_EQ(std::get<Let>(loop.body[10]).operand_dtypes[0], DType::boolean);
  const auto& product = std::get<Product>(kernel.phases[1].body[1]);
  EXPECT_EQ(product.sizes[1].second.text(), "`n m`");
}

TEST(LoopText, LoopsAcrossRows) {
  std::string text(R"(kernel k(x: f32[64] in, y: f32[64] out) sizes() {
  phase p in parallel(1) grain 1 {
    for j in vector(16) across `a row`(4) {
      prefetch L1 x[16*`a row` + j + 128]
      a: f32 = load x[16*`a row` + j]
      store y[16*`a row` + j] = a
    }
  }
}
)");
  Kernel kernel = parse_kernel(text, "<test>");
  EXPECT_EQ(print(kernel), text);
  EXPECT_EQ(std::get<std::shared_ptr<Loop>>(kernel.phases[0].body[0])->across, "a row");
}

TEST(LoopText, PhasesOfSeveralBlocks) {
  const std::string head = "kernel k(x: f32[64] in, y: f32[64] out) sizes() {\n";
  const std::string body = R"( {
    acc s: f32 = sum lanes 64
    for c in spread(2) {
      a: f32 = load x[c]
      s[c] sum= a
    }
    r: f32 = finish s
    store y[p] = r
  }
)";
  const auto text = [&](std::string_view blocks) {
    return head + "  phase p in parallel(4) grain 1" + std::string(blocks) + body + "}\n";
  };
  const Kernel kernel = parse_kernel(text(" blocks 8"), "<test>");
  EXPECT_EQ(kernel.phases[0].blocks, 8);
  EXPECT_EQ(print(kernel), text(" blocks 8"));
  EXPECT_EQ(print(parse_kernel(text(" blocks 1"), "<test>")), text(""));
}

// A value may be called like a keyword or anything else.
TEST(LoopText, OddNames) {
  for (const char* name : {"for", "acc", "store", "inf", "nan", "load", "fetch", "await", "x y",
                           "a.b/c:0", "π", "9"}) {
    Kernel kernel;
    kernel.name = "k";
    kernel.params = {{name, DType::f32, Sym(4), Role::output, -1}};
    Load load{.name = name,
              .dtype = DType::f32,
              .buffer = name,
              .index = Sym(0),
              .guards = {},
              .otherwise = {},
              .report = -1};
    Let let{"next", DType::f32, Op::neg, {std::string(name)}, {DType::f32}, {}};
    kernel.phases = {{"p", Sym(1), 1, {load, let, Store{name, Sym::var("p"), std::string(name)}}}};
    Kernel again = parse_kernel(print(kernel), "<test>");
    EXPECT_EQ(print(again), print(kernel));
    EXPECT_EQ(std::get<Load>(again.phases[0].body[0]).name, name);
    EXPECT_EQ(std::get<std::string>(std::get<Let>(again.phases[0].body[1]).operands[0]), name);
  }
}

std::string error_of(const std::string& statement) {
  std::string text =
      "kernel k(x: f32[4] in, y: f32[4] out) sizes() {\n  phase p in parallel(4) grain 1 {\n    " +
      statement + "\n  }\n}\n";
  try {
    parse_kernel(text, "k.loop");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.location().line, 3);
    return error.message();
  }
  return "no error";
}

TEST(LoopText, SeveralKernelsReadBackOneByOne) {
  const std::string first = print(parse_kernel(every_statement, "<test>"));
  const std::string second =
      "kernel other(x: f32[4] in) sizes() {\n  phase p in parallel(4) grain 1 {\n"
      "    x0: f32 = load x[p]\n  }\n}\n";
  const std::vector<Kernel> kernels = parse_kernels(first + "\n" + second + first, "<test>");
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(print(kernels[0]), first);
  EXPECT_EQ(print(kernels[1]), second);
  EXPECT_EQ(print(kernels[2]), first);
  EXPECT_THROW(parse_kernels("", "<test>"), Error);
  EXPECT_THROW(parse_kernel(first + second, "<test>"), Error);
}

TEST(LoopText, Errors) {
  EXPECT_EQ(error_of("t: f32 = ad(1, 2)"), "unknown op 'ad'; did you mean 'add'?");
  EXPECT_EQ(error_of("t: f32 = add(x0, 1)"), "no value 'x0' here");
  EXPECT_EQ(error_of("t: i32 = add(1, 1.5)"), "a literal of dtype i32 is a whole number");
  EXPECT_EQ(error_of("t: f3 = add(1, 1)"), "unknown dtype 'f3'");
  EXPECT_EQ(error_of("s sum= 1"), "no accumulator 's' here");
  EXPECT_EQ(error_of("acc s: f32 = add lanes 1"),
            "'add' is no reduction: sum max min prod any all");
  EXPECT_EQ(error_of("acc s: f32 = sum lanes 1 s max= 1"), "s accumulates sum, not max");
  EXPECT_EQ(error_of("store z[0] = 1"), "no buffer 'z'");
  EXPECT_EQ(error_of("t: f32 = elu(1)"), "elu needs alpha=…");
  EXPECT_EQ(error_of("t: f32 = elu(1, alpha=1) form fast"), "elu has no form 'fast'");
  EXPECT_EQ(error_of("t: f32 = gelu(1) form half"),
            "gelu has no form 'half'; it has fast, bf16, f16, nearest, same");
  EXPECT_EQ(error_of("t: f32 = elu(1, beta=2)"),
            "elu: unexpected attribute 'beta'; attributes: alpha");
}

}  // namespace
}  // namespace ingot::loop
