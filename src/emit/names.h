// Names of an emitted function: the user's words as C identifiers, each meaning one thing where it
// is visible.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

class Names {
 public:
  // `taken` holds the words that the emitted text may use itself.
  explicit Names(std::set<std::string, std::less<>> taken) : scopes_{std::move(taken)} {}

  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }
  // An identifier as near to `wanted` as possible, kept until the scope closes.
  std::string unique(std::string_view wanted);
  void give(const std::string& name) { given_.insert(name); }  // unique by itself
  // `text` without comments, the names given so far numbered in the order they stand in it: equal
  // for texts that differ in names only.
  std::string without_names(std::string_view text) const;

 private:
  bool visible(std::string_view name) const;
  std::vector<std::set<std::string, std::less<>>> scopes_;
  std::set<std::string, std::less<>> given_;  // in all scopes, closed ones too
};

// C++ keywords, and the functions, types and macros of the vector vocabulary.
const std::set<std::string, std::less<>>& reserved_names();

// All that can stand before the kernels of a translation unit, library functions excepted.
std::string vocabulary_text();

}  // namespace ingot
