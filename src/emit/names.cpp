#include "emit/names.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/text.h"
#include "device/library.h"

namespace ingot {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Words of C++ that a value might be called, and names that emitted code uses itself.
constexpr std::string_view own_words[] = {
    "alignas",   "alignof",      "and",       "asm",       "auto",      "bitand",     "bitor",
    "bool",      "break",        "case",      "catch",     "char",      "class",      "compl",
    "concept",   "const",        "consteval", "constexpr", "constinit", "continue",   "decltype",
    "default",   "delete",       "do",        "double",    "else",      "enum",       "explicit",
    "export",    "extern",       "false",     "float",     "for",       "friend",     "goto",
    "if",        "inline",       "int",       "long",      "mutable",   "namespace",  "new",
    "noexcept",  "not",          "nullptr",   "operator",  "or",        "private",    "protected",
    "public",    "register",     "requires",  "return",    "short",     "signed",     "sizeof",
    "static",    "struct",       "switch",    "template",  "this",      "throw",      "true",
    "try",       "typedef",      "typeid",    "typename",  "typeof",    "union",      "unix",
    "linux",     "unsigned",     "using",     "virtual",   "void",      "volatile",   "while",
    "xor",       "call",         "l",         "min",       "divisor",   "KernelCall", "F32",
    "F64",       "I32",          "I64",       "M32",       "M64",       "main",       "Live",
    "all_lanes", "KernelReport", "report",    "thread",    "threadIdx", "blockIdx",   "blockDim",
    "gridDim"};

std::string_view word_at(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && is_word(text[end])) end++;
  return text.substr(begin, end - begin);
}

// Every word that is followed by "(", functions and macros (and a few harmless others), and every
// word after "#define". Of a name that a macro pastes together, as in load_##name(, `heads` gets
// the first part; `tails` gets what it may be pasted to, the first argument of a line MACRO(f32,
// …).
void add_called(std::string_view text, std::set<std::string, std::less<>>& words) {
  constexpr std::string_view define = "#define ";
  std::set<std::string_view> heads, tails;
  for (size_t i = 0; i < text.size();) {
    const std::string_view word = word_at(text, i);
    if (word.empty()) {
      i++;
      continue;
    }
    const std::string_view before = text.substr(0, i), after = text.substr(i + word.size());
    i += word.size();
    if (after.starts_with("(") || before.ends_with(define)) words.emplace(word);
    if (after.starts_with("##")) heads.insert(word);
    if (after.starts_with("(") && before.ends_with('\n')) tails.insert(word_at(after, 1));
  }
  for (const std::string_view head : heads) {
    for (const std::string_view tail : tails) words.insert(std::string(head).append(tail));
  }
}

}  // namespace

bool Names::visible(std::string_view name) const {
  if (device::has_function(name)) return true;
  for (const auto& scope : scopes_) {
    if (scope.contains(name)) return true;
  }
  return false;
}

std::string Names::unique(std::string_view wanted) {
  std::string base;
  for (char c : wanted) base += is_word(c) && static_cast<unsigned char>(c) < 128 ? c : '_';
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0])) != 0) base = "v" + base;
  // Two underscores, or one before a capital, at the start belong to the compiler.
  if (base[0] == '_') base = "v" + base;
  // NAME_index is the value in subscripts, NAME_at the function of its lanes.
  std::string name = base;
  auto free = [&] { return !visible(name) && !visible(name + "_at") && !visible(name + "_index"); };
  for (int i = 2; !free(); i++) name = base + "_v" + std::to_string(i);
  for (const char* suffix : {"", "_at", "_index"}) {
    scopes_.back().insert(name + suffix);
    given_.insert(name + suffix);
  }
  return name;
}

std::string Names::without_names(std::string_view text) const {
  std::string out;
  std::map<std::string_view, size_t> numbers;
  while (!text.empty()) {
    if (text.starts_with("//") || text.starts_with('"')) {
      bool comment = text[0] == '/';
      size_t end = text.find(comment ? '\n' : '"', 1);
      end = end == std::string_view::npos ? text.size() : end + 1;
      if (!comment) out += text.substr(0, end);
      text.remove_prefix(end);
      continue;
    }
    std::string_view word = word_at(text, 0);
    bool member = out.ends_with("->");
    if (!word.empty() && !member && given_.contains(word)) {
      out += fmt::format("${}", numbers.emplace(word, numbers.size()).first->second);
    } else {
      out += word.empty() ? text.substr(0, 1) : word;
    }
    text.remove_prefix(std::max<size_t>(word.size(), 1));
  }
  return out;
}

const std::set<std::string, std::less<>>& reserved_names() {
  static const std::set<std::string, std::less<>> reserved = [] {
    std::set<std::string, std::less<>> words(std::begin(own_words), std::end(own_words));
    add_called(vocabulary_text(), words);
    return words;
  }();
  return reserved;
}

}  // namespace ingot
