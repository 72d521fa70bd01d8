// Simplification of sizes and subscripts: literal cases, and random expressions whose value before
// and after simplifying is compared.
#include <gtest/gtest.h>

#include <random>

#include "base/sym.h"
#include "base/text.h"

namespace ingot {
namespace {

Sym v(const char* name) { return Sym::var(name); }

Sym parsed(const std::string& text) {
  Cursor cursor("sym", text);
  Sym result = Sym::parse(cursor);
  EXPECT_TRUE(cursor.at_end()) << text;
  return result;
}

TEST(Sym, CanonicalForm) {
  const Sym n = v("N"), i = v("i"), j = v("j");
  EXPECT_EQ((i * n + j).text(), "N*i + j");
  EXPECT_EQ(((n + 1) * (n - 1)).text(), "N*N - 1");
  EXPECT_EQ((Sym(64) - i).text(), "64 - i");
  EXPECT_EQ((Sym(-3) - i * 2).text(), "-2*i - 3");
  EXPECT_EQ(i + j - i, j);
  EXPECT_TRUE((n - n).is(0));
  EXPECT_EQ((i - j).substitute({{"i", j}}), Sym(0));
  EXPECT_EQ(n.variable(), "N");
  EXPECT_FALSE((n + 1).variable());
}

TEST(Sym, Division) {
  const Sym n = v("N"), m = v("M"), i = v("i"), j = v("j"), k = v("k");
  const Ranges r = {{"i", m}, {"j", n}, {"k", 64}};
  EXPECT_EQ(floor_div(i * n + j, n, r), i);
  EXPECT_EQ(mod(i * n + j, n, r), j);
  EXPECT_EQ(floor_div(i * 64 + k, 64, r), i);
  EXPECT_EQ(mod(i * 64 + k, 64, r), k);
  EXPECT_EQ(floor_div(i * 8 + k, 64, r).text(), "(8*i + k) / 64");
  EXPECT_EQ(floor_div(i * n + j, n * 4, r).text(), "i / 4");
  EXPECT_EQ(mod(i * n + j, n * 4, r), n * mod(i, 4) + j);
  EXPECT_EQ(floor_div(floor_div(i, 4), 8), floor_div(i, 32));
  EXPECT_EQ(mod(mod(i, 64), 16), mod(i, 16));
  EXPECT_EQ(floor_div(mod(i, 64), 16), mod(floor_div(i, 16), 4));
  EXPECT_EQ(floor_div(i * 128 + k, 64, r), i * 2);
  EXPECT_EQ(mod(k + 64, 64, r), k);
  EXPECT_EQ(floor_div(n - 1, n, r), Sym(0));
  EXPECT_EQ(floor_div(i * (n + 1) + j, n + 1, r), i);
  EXPECT_EQ(mod(i * (n + 1) + j, n + 1, r), j);
  EXPECT_EQ(min(k, 63, r), k);
  EXPECT_EQ(min(64, n - 64 * i).text(), "min(64, N - 64*i)");
}

// Of [2, 4, 2, 5] in one variable, three joined and split again.
TEST(Sym, RemaindersOfOneVariableSplitAgain) {
  const Sym i = v("i"), j = v("j");
  const Ranges r = {{"i", 80}, {"j", 7}};
  const Sym first = mod(floor_div(i, 10, r), 4, r), second = mod(floor_div(i, 5, r), 2, r);
  const Sym joined = (first * 2 + second) * 7 + j;
  EXPECT_EQ(mod(joined, 7, r), j);
  EXPECT_EQ(mod(floor_div(joined, 7, r), 2, r), second);
  EXPECT_EQ(floor_div(joined, 14, r), first);
}

TEST(Sym, QuotientAndRemainderRecombine) {
  const Sym j = v("j");
  EXPECT_EQ(floor_div(j, 64) * 64 + mod(j, 64), j);
  EXPECT_EQ(floor_div(j, 64) * 64 + mod(floor_div(j, 16), 4) * 16 + mod(j, 16), j);
  const Sym n = v("N"), k = v("K");
  EXPECT_EQ((floor_div(j, n) * n + mod(j, n)) * k, j * k);
}

TEST(Sym, LoopVariableMayBeZeroWhereNoRangesAreKnown) {
  // As a size, i would be at least 1 and the quotient 0.
  const Sym quotient = floor_div(Sym(64) - v("i"), 64);
  EXPECT_EQ(quotient.evaluate({{"i", 0}}), 1);
  EXPECT_EQ(parsed("(64 - i) / 64").evaluate({{"i", 0}}), 1);
}

TEST(Sym, ExactDivision) {
  const Sym b = v("B"), c = v("C");
  EXPECT_EQ(exact_div(b * 8, 4), b * 2);
  EXPECT_EQ(exact_div(b * c * 6, b * 2), c * 3);
  EXPECT_EQ(exact_div((b + 1) * (c - 2), b + 1), c - 2);
  EXPECT_FALSE(exact_div(b, 4));
  EXPECT_FALSE(exact_div(b, c));
  EXPECT_FALSE(exact_div(b, 0));
  EXPECT_EQ(exact_div(0, 4), Sym(0));
}

TEST(Sym, Proofs) {
  const Sym n = v("n"), i = v("i"), k = v("k");
  EXPECT_TRUE(provably_nonnegative(n - 1, {}));
  EXPECT_FALSE(provably_nonnegative(n - 2, {}));
  EXPECT_TRUE(provably_nonnegative((n - 1) * (v("m") - 1), {}));
  Ranges r = {{"i", n}};
  EXPECT_TRUE(provably_nonnegative(n - 1 - i, r));
  EXPECT_FALSE(provably_nonnegative(n - 2 - i, r));
  // The tail of a blocked loop: 64·i + k < n for k < min(64, n − 64·i).
  r = {{"i", ceil_div(n, 64)}, {"k", min(64, n - i * 64)}};
  EXPECT_TRUE(provably_nonnegative(n - 1 - i * 64 - k, r));
  EXPECT_FALSE(provably_nonnegative(n - 64 - i * 64 - k, r));
  EXPECT_EQ(upper_bound(v("j") + i * 2, {{"i", 8}, {"j", n}}), n + 13);
  EXPECT_EQ(upper_bound(floor_div(i, 4), {{"i", n * 8}}), n * 2 - 1);
  EXPECT_FALSE(upper_bound(i * (n - v("m")), {{"i", 8}}));
}

TEST(Sym, Stride) {
  const Sym e = v("N") * v("i") * 4 + v("i") + v("j") + mod(v("k"), 8);
  EXPECT_EQ(e.stride("i"), v("N") * 4 + 1);
  EXPECT_EQ(e.stride("j"), Sym(1));
  EXPECT_EQ(e.stride("absent"), Sym(0));
  EXPECT_FALSE(e.stride("k"));
  EXPECT_FALSE((v("i") * v("i")).stride("i"));
}

// 2·a + 1 modulo 2·(B − 1) is 2·(a mod (B − 1)) + 1, but where B is 1 and the remainder 0.
TEST(Sym, ARemainderByADifferenceKeepsItsZero) {
  const Sym b = Sym::var("B"), i = Sym::var("i");
  const Ranges ranges{{"i", b}};
  const Sym odd = mod(Sym(2) * i + 1, Sym(2) * b - 2, ranges);
  EXPECT_EQ(odd.text(), "(2*i + 1) % (2*B - 2)");
  EXPECT_EQ(odd.evaluate({{"B", 4}, {"i", 3}}), 1);
  EXPECT_EQ(mod(Sym(2) * i + 1, Sym(2) * b, ranges).text(),
            (Sym(2) * mod(i, b, ranges) + 1).text());
}

TEST(Sym, OverflowIsAnInputError) {
  const Sym big = int64_t{1} << 40;
  EXPECT_THROW(big * big, Error);
  EXPECT_THROW((v("N") * v("N")).evaluate({{"N", int64_t{1} << 40}}), Error);
  EXPECT_THROW(floor_div(v("N"), v("M")).evaluate({{"N", 4}, {"M", 0}}), Error);
}

TEST(Sym, TextParsesBack) {
  for (const char* text :
       {"0", "-7", "N", "4*k + j / 64", "j % 64", "min(64, n - 64*i)", "3*(j / 4)", "N*(i % 8)",
        "(i + j) / (2*N)", "-(i / 4) - 1", "`a b`*i", "x.shape", "`inf` + 1", "N*N*N"}) {
    EXPECT_EQ(parsed(text), parsed(parsed(text).text())) << text;
  }
  EXPECT_EQ(parsed("4*k + j / 64").text(), "j / 64 + 4*k");
  EXPECT_EQ(parsed("B*8/4"), v("B") * 2);
}

TEST(Sym, ParseErrors) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parsed(text);
    } catch (const Error& error) {
      return error.message();
    }
    return "none";
  };
  EXPECT_EQ(message("N / 0"), "a divisor must be positive, got 0");
  EXPECT_EQ(message("N + "),
            "expected a size (a number, a name or an expression), got end of text");
  EXPECT_EQ(message("2.5"), "a size must be an integer");
  EXPECT_EQ(message(std::string(5000, '(')), "a size expression is nested too deeply");
  EXPECT_EQ(message("9223372036854775807 * 2"),
            "size arithmetic overflows 64 bits: 9223372036854775807 * 2");
}

// Random expressions, evaluated beside their construction without simplification.
struct Sample {
  Sym sym;
  std::vector<int64_t> values;  // at every binding
};

class RandomSyms {
 public:
  explicit RandomSyms(unsigned seed) : random_(seed) {
    for (int b = 0; b < 24; b++) {
      Bindings at = {{"N", pick(1, 9)}, {"M", pick(1, 70)}};
      at["i"] = pick(0, at["N"] - 1);
      at["j"] = pick(0, at["M"] - 1);
      at["k"] = pick(0, 63);
      // An extent of another variable: l < min(8, M − 8·b), b < ceil(M / 8).
      at["b"] = pick(0, (at["M"] + 7) / 8 - 1);
      at["l"] = pick(0, std::min<int64_t>(8, at["M"] - 8 * at["b"]) - 1);
      bindings_.push_back(at);
    }
  }

  const Ranges ranges = {{"i", Sym::var("N")},
                         {"j", Sym::var("M")},
                         {"k", 64},
                         {"b", ceil_div(Sym::var("M"), 8)},
                         {"l", min(8, Sym::var("M") - 8 * Sym::var("b"))}};
  const std::vector<Bindings>& bindings() const { return bindings_; }

  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

  Sample leaf() {
    static const char* const names[] = {"N", "M", "i", "j", "k", "b", "l"};
    if (pick(0, 3) == 0) return constant(pick(0, 3) ? pick(0, 9) : 8 * pick(1, 16));
    const char* name = names[pick(0, 6)];
    Sample sample{Sym::var(name), {}};
    for (const Bindings& at : bindings_) sample.values.push_back(at.at(name));
    return sample;
  }

  Sample constant(int64_t value) { return {value, std::vector<int64_t>(bindings_.size(), value)}; }

  Sample divisor() {
    if (pick(0, 3) > 0) return constant(int64_t{1} << pick(0, 7));
    return combine(leaf_size(), constant(pick(1, 4)), 2);
  }
  Sample leaf_size() {
    const char* name = pick(0, 1) ? "N" : "M";
    Sample sample{Sym::var(name), {}};
    for (const Bindings& at : bindings_) sample.values.push_back(at.at(name));
    return sample;
  }

  // 0 sum, 1 difference, 2 product, 3 quotient, 4 remainder, 5 minimum.
  Sample combine(const Sample& a, const Sample& b, int how) {
    Sample r;
    switch (how) {
      case 0:
        r.sym = a.sym + b.sym;
        break;
      case 1:
        r.sym = a.sym - b.sym;
        break;
      case 2:
        r.sym = a.sym * b.sym;
        break;
      case 3:
        r.sym = floor_div(a.sym, b.sym, ranges);
        break;
      case 4:
        r.sym = mod(a.sym, b.sym, ranges);
        break;
      default:
        r.sym = min(a.sym, b.sym, ranges);
        break;
    }
    for (size_t i = 0; i < a.values.size(); i++) {
      const int64_t x = a.values[i], y = b.values[i];
      r.values.push_back(how == 0   ? x + y
                         : how == 1 ? x - y
                         : how == 2 ? x * y
                         : how == 3 ? x / y
                         : how == 4 ? x % y
                                    : std::min(x, y));
    }
    return r;
  }

  Sample expression(int depth) {
    if (depth == 0) return leaf();
    const int how = static_cast<int>(pick(0, 5));
    const Sample a = expression(depth - 1);
    if (how == 3 || how == 4) {
      // The promise a ≥ 0 has to hold at every point of the ranges.
      if (!provably_nonnegative(a.sym, ranges)) return a;
      return combine(a, divisor(), how);
    }
    return combine(a, expression(depth - 1), how);
  }

 private:
  std::mt19937 random_;
  std::vector<Bindings> bindings_;
};

TEST(SymRandom, SimplifiedValuesAreEqual) {
  for (unsigned seed = 0; seed < 2500; seed++) {
    RandomSyms random(seed);
    const Sample e = random.expression(static_cast<int>(random.pick(1, 4)));
    const std::string text = e.sym.text();
    const Sym again = parsed(text);
    const Sym substituted = e.sym.substitute({}, random.ranges);
    const bool nonnegative = provably_nonnegative(e.sym, random.ranges);
    const std::optional<Sym> bound = upper_bound(e.sym, random.ranges);
    for (size_t b = 0; b < e.values.size(); b++) {
      const Bindings& at = random.bindings()[b];
      ASSERT_EQ(e.sym.evaluate(at), e.values[b]) << "seed " << seed << ": " << text;
      ASSERT_EQ(again.evaluate(at), e.values[b]) << "seed " << seed << ": " << text;
      ASSERT_EQ(substituted.evaluate(at), e.values[b]) << "seed " << seed << ": " << text;
      if (nonnegative) {
        ASSERT_GE(e.values[b], 0) << "seed " << seed << ": " << text;
      }
      if (bound) {
        ASSERT_GE(bound->evaluate(at), e.values[b])
            << "seed " << seed << ": " << text << " ≤ " << bound->text();
      }
    }
  }
}

TEST(SymRandom, ReshapeIndicesSimplifyToThemselves) {
  // [A, B·64] → [A, B, 64] → [A, B·64]: an index comes back as it was.
  const Sym n = v("B"), i = v("i"), j = v("j");
  const Ranges r = {{"i", v("A")}, {"j", n * 64}};
  const Sym outer = floor_div(j, 64, r), inner = mod(j, 64, r);
  EXPECT_EQ(outer * 64 + inner, j);
  const Sym flat = (i * n + outer) * 64 + inner;
  EXPECT_EQ(flat, i * n * 64 + j);
  EXPECT_EQ(floor_div(flat, n * 64, r), i);
  EXPECT_EQ(mod(flat, n * 64, r), j);
}

}  // namespace
}  // namespace ingot
