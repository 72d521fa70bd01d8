// The tuning database as text: what was measured of groups, and what was chosen. A line an entry,
// sorted; lines that are not understood are kept.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

// What an entry holds for. Words without blanks.
struct TuningKey {
  std::string device;    // "H200", "AMD-EPYC-avx2-fma/2": board, or CPU and threads
  std::string numerics;  // "exact"
  std::string group;     // 16 hexadecimal digits of the SHA-256 of GroupKey::text
  std::string sizes;     // GroupKey::sizes
  int plan = 0;          // plan_version
  friend auto operator<=>(const TuningKey&, const TuningKey&) = default;
};

struct TuningEntry {
  TuningKey key;
  // "planned", "together", "parts:0-2|3" (parts_text) or "schedule:rows_read_again" (a word of
  // Schedule).
  std::string choice;
  double us = 0;                      // of the choice
  std::optional<double> together_us;  // of the group as one, as planned
  std::optional<double> apart_us;     // of its ops one by one
  double interval = 0;                // half of the 95 % interval of `us`, as a share of it
  std::string date;                   // "2026-11-30"
  std::string compiler;               // "g++-12.2.0"
  std::string name;                   // of the group, for a reader

  // The choice; its parts one by one where these were faster by more than the interval, whatever
  // the entry says.
  bool apart_is_faster() const;
};

class TuningDatabase {
 public:
  // `warnings` gets "FILE:3: …" for each line that is ignored. An empty text is an empty database.
  static TuningDatabase parse(std::string_view text, const std::string& file,
                              std::vector<std::string>* warnings);
  std::string print() const;

  const TuningEntry* find(const TuningKey& key) const;
  // In the place of one of the same key.
  void put(TuningEntry entry);
  size_t size() const { return lines_.size(); }

 private:
  struct Line {
    TuningEntry entry;
    std::vector<std::string> before;  // comments and lines that are not understood
  };
  std::vector<Line> lines_;        // by key
  std::vector<std::string> rest_;  // behind the last entry
};

}  // namespace ingot
