// Cuts the embedded library into functions and sections.
#include "device/library.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "device/library_text.h"

namespace ingot::device {
namespace {

struct Function {
  std::string name, type;          // "exp", "f32": the type of the first parameter
  std::string text;                // with the comment above it
  std::vector<std::string> words;  // identifiers in the body
  bool wide = false;               // computes in 64-bit types too
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    while (i < text.size() && is_word(text[i])) i++;
    if (i == begin) {
      i++;
    } else if (std::isdigit(static_cast<unsigned char>(text[begin])) == 0) {
      words.emplace_back(text.substr(begin, i - begin));
    }
  }
  return words;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// A library file is a sequence of declarations: a line that starts with INLINE, SLOW, TABLE or
// SHARED up to a line that ends it, with the comment lines above. Comments parted by an empty line
// belong to none.
void cut(std::string_view text, std::vector<Function>& functions) {
  std::string block;
  size_t head = std::string::npos;  // of the declaration in the block
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size() - 1);
    std::string_view line = text.substr(begin, end + 1 - begin);
    begin = end + 1;
    if (line == "\n" && head == std::string::npos) block.clear();
    if (line.starts_with("INLINE ") || line.starts_with("SLOW ") || line.starts_with("TABLE ") ||
        line.starts_with("SHARED ")) {
      head = block.size();
    }
    block += line;
    bool closed =
        line == "}\n" || line == "};\n" ||
        (head + line.size() == block.size() && (line.ends_with("}\n") || line.ends_with(";\n")));
    if (head == std::string::npos || !closed) continue;
    Function f;
    f.words = words_of(std::string_view(block).substr(head));
    f.name = f.words[2];  // INLINE type name(type ..., TABLE type name[size]
    const bool data = f.words[0] == "TABLE" || f.words[0] == "SHARED";
    if (!data) f.type = lower(f.words[3]);
    f.words.erase(f.words.begin(), f.words.begin() + 3);
    f.wide = std::any_of(f.words.begin(), f.words.end(), [](const std::string& w) {
      return w == "F64" || w == "I64" || w == "U64" || w == "to_f64" || w == "to_i64";
    });
    f.text = std::move(block);
    block.clear();
    head = std::string::npos;
    functions.push_back(std::move(f));
  }
}

const std::vector<Function>& all_functions() {
  static const std::vector<Function> functions = [] {
    std::vector<Function> result;
    for (const char* file :
         {"elementary_f64.inc", "trigonometric_f64.inc", "tables_f32.inc", "elementary_f32.inc",
          "shorter_f32.inc", "cuda_functions.inc", "trigonometric_f32.inc", "integer.inc"}) {
      cut(embedded(file), result);
    }
    return result;
  }();
  return functions;
}

// Whether a marker's list, such as "u8 bf16" (for each of them) or "stream+f64" (for both
// together), asks for the text below it.
bool wanted(std::string_view list, const std::set<std::string>& sections) {
  bool all = true;
  for (size_t begin = 0; begin < list.size();) {
    size_t end = begin;
    while (end < list.size() && is_word(list[end])) end++;
    std::string name(list.substr(begin, end - begin));
    all = all && (name == "core" || sections.contains(name));
    if (end < list.size() && list[end] == '+') {
      begin = end + 1;
      continue;
    }
    if (all) return true;
    all = true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

bool has_function(std::string_view name) {
  const std::vector<Function>& all = all_functions();
  return std::any_of(all.begin(), all.end(), [&](const Function& f) { return f.name == name; });
}

std::string library_text(const std::set<std::string>& functions) {
  const std::vector<Function>& all = all_functions();
  std::vector<bool> used(all.size());
  std::vector<size_t> open;
  auto use = [&](std::string_view name, std::string_view type) {
    for (size_t i = 0; i < all.size(); i++) {
      bool match = all[i].name == name && (type.empty() || all[i].type.empty() ||
                                           all[i].type == "double" || all[i].type == type);
      if (!match || used[i]) continue;
      used[i] = true;
      open.push_back(i);
    }
  };
  for (const std::string& entry : functions) {
    size_t dot = entry.find('.');
    use(entry.substr(0, dot), dot == std::string::npos ? "" : entry.substr(dot + 1));
  }
  while (!open.empty()) {
    const Function& f = all[open.back()];
    open.pop_back();
    for (const std::string& word : f.words) {
      use(word, f.type);
      if (f.wide) use(word, "f64");
      if (f.wide) use(word, "i64");
      if (f.type == "u64") use(word, "u64");
    }
  }
  std::string text;
  for (size_t i = 0; i < all.size(); i++) {
    if (used[i]) text += all[i].text + "\n";
  }
  return text;
}

namespace {

std::string prelude(std::initializer_list<const char*> files,
                    const std::set<std::string>& sections) {
  std::string result;
  for (const char* file : files) {
    std::string_view text = embedded(file);
    bool keep = false;  // the file's head is for its reader
    for (size_t begin = 0; begin < text.size();) {
      size_t end = std::min(text.find('\n', begin), text.size() - 1);
      std::string_view line = text.substr(begin, end + 1 - begin);
      begin = end + 1;
      constexpr std::string_view marker = "//: section ";
      if (line.starts_with(marker)) {
        keep = wanted(line.substr(marker.size()), sections);
      } else if (keep) {
        result += line;
      }
    }
  }
  return result;
}

}  // namespace

std::string vector_prelude(const std::set<std::string>& sections, int lanes) {
  std::string result;
  if (lanes != 16) result = "#define INGOT_LANES " + std::to_string(lanes) + "\n";
  return result + prelude({"vector_registers.inc", "lanes.inc", "vector.inc", "vector_memory.inc",
                           "transpose.inc"},
                          sections);
}

std::string cuda_prelude(const std::set<std::string>& sections, int lanes) {
  return "#define INGOT_LANES " + std::to_string(lanes) + "\n" +
         prelude({"cuda_primitives.inc", "cuda_registers.inc", "lanes.inc", "cuda_memory.inc",
                  "cuda_tiles.inc"},
                 sections);
}

namespace {

// The sections behind the end of a name, as in load_bf16.
const std::map<std::string, std::set<std::string>, std::less<>>& sections_of_suffix() {
  static const std::map<std::string, std::set<std::string>, std::less<>> sections = {
      {"f64", {"f64"}},        {"i64", {"f64"}},       {"m64", {"f64"}},   {"u64", {"f64", "u64"}},
      {"u32", {"f64", "u32"}}, {"u8", {"u8"}},         {"bool", {"u8"}},   {"i8", {"i8"}},
      {"i16", {"i16"}},        {"u16", {"u16"}},       {"bf16", {"bf16"}}, {"f16", {"f16"}},
      {"f8e4m3", {"f8e4m3"}},  {"f8e5m2", {"f8e5m2"}},
  };
  return sections;
}

}  // namespace

std::set<std::string> all_sections() {
  std::set<std::string> all{"stream", "transpose", "tiles", "fetch", "cluster"};
  for (const auto& [suffix, sections] : sections_of_suffix()) {
    all.insert(sections.begin(), sections.end());
  }
  return all;
}

std::set<std::string> sections_used(std::string_view text) {
  std::set<std::string> sections;
  auto add = [&](const std::set<std::string>& names) {
    sections.insert(names.begin(), names.end());
  };
  for (const std::string& word : words_of(text)) {
    if (word == "F64" || word == "I64" || word == "M64") sections.insert("f64");
    if (word == "U64") add({"f64", "u64"});
    if (word == "Rows") sections.insert("rows");
    if (word.starts_with("stream_")) sections.insert("stream");
    if (word.starts_with("transpose_")) sections.insert("transpose");
    if (word == "fill_tile") sections.insert("tiles");
    if (word == "fetch_row") sections.insert("fetch");
    if (word == "cluster_barrier") sections.insert("cluster");
    size_t bar = word.rfind('_');
    if (bar == std::string::npos) continue;
    auto found = sections_of_suffix().find(std::string_view(word).substr(bar + 1));
    if (found != sections_of_suffix().end()) add(found->second);
  }
  return sections;
}

}  // namespace ingot::device
