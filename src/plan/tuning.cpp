#include "plan/tuning.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

namespace ingot {
namespace {

constexpr std::string_view first_line = "ingot tuning 1";

std::string time_text(double us) {
  return us < 100 ? fmt::format("{:.3f}", us) : fmt::format("{:.1f}", us);
}

std::string entry_text(const TuningEntry& entry) {
  const TuningKey& key = entry.key;
  std::string text =
      fmt::format("device={} numerics={} group={} sizes={} plan={} choice={} us={}", key.device,
                  key.numerics, key.group, key.sizes, key.plan, entry.choice, time_text(entry.us));
  if (entry.together_us) text += " together=" + time_text(*entry.together_us);
  if (entry.apart_us) text += " apart=" + time_text(*entry.apart_us);
  return text + fmt::format(" interval={:.4f} date={} compiler={} name={}", entry.interval,
                            entry.date, entry.compiler, entry.name);
}

template <class T>
std::optional<T> number_of(const std::string& text) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

std::map<std::string, std::string, std::less<>> fields_of(std::string_view line) {
  std::map<std::string, std::string, std::less<>> fields;
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    const size_t equals = word.find('=');
    if (equals != std::string_view::npos) {
      fields.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
    at = end + 1;
  }
  return fields;
}

bool is_choice(std::string_view text) {
  return text == "planned" || text == "together" || text.starts_with("parts:") ||
         text.starts_with("schedule:");
}

// The entry, or what is wrong with the line.
std::optional<TuningEntry> parse_entry(std::string_view line, std::string* problem) {
  const auto fields = fields_of(line);
  auto text = [&](std::string_view name) {
    const auto found = fields.find(name);
    if (found == fields.end() || found->second.empty()) {
      if (problem->empty()) *problem = fmt::format("no {}=", name);
      return std::string();
    }
    return found->second;
  };
  auto time = [&](std::string_view name, bool required) -> std::optional<double> {
    if (!required && fields.find(name) == fields.end()) return std::nullopt;
    const std::string word = text(name);
    const std::optional<double> value = number_of<double>(word);
    const bool right = value && *value >= 0 && *value < 1e15;  // no NaN
    if (!right && problem->empty()) *problem = fmt::format("{}={} is no time", name, word);
    return right ? value : std::nullopt;
  };
  TuningEntry entry;
  entry.key = {text("device"), text("numerics"), text("group"), text("sizes"), 0};
  const std::optional<int> plan = number_of<int>(text("plan"));
  if (!plan && problem->empty()) *problem = "plan= is no number";
  entry.key.plan = plan.value_or(0);
  entry.choice = text("choice");
  if (!is_choice(entry.choice) && problem->empty()) {
    *problem =
        fmt::format("choice={} is none of planned, together, parts:… and schedule:…", entry.choice);
  }
  entry.us = time("us", true).value_or(0);
  entry.together_us = time("together", false);
  entry.apart_us = time("apart", false);
  entry.interval = time("interval", true).value_or(0);
  entry.date = text("date");
  entry.compiler = text("compiler");
  entry.name = text("name");
  return problem->empty() ? std::optional(std::move(entry)) : std::nullopt;
}

}  // namespace

bool TuningEntry::apart_is_faster() const {
  const bool is_apart = choice.starts_with("parts:");
  return !is_apart && apart_us && *apart_us < us * (1 - interval);
}

TuningDatabase TuningDatabase::parse(std::string_view text, const std::string& file,
                                     std::vector<std::string>* warnings) {
  TuningDatabase database;
  std::vector<std::string> before;
  int number = 0;
  bool headed = false;
  auto warn = [&](std::string_view what) {
    warnings->push_back(fmt::format("{}:{}: {}; the line is ignored", file, number, what));
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line(text.substr(at, end - at));
    at = end + 1;
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() || line == first_line) {
      headed = headed || !line.empty();
      continue;
    }
    if (line.front() == '#') {
      before.push_back(std::move(line));
      continue;
    }
    std::string problem;
    if (line.starts_with("ingot tuning ")) {
      problem = fmt::format("'{}' is of another version; this one reads '{}'", line, first_line);
    } else if (std::optional<TuningEntry> entry = parse_entry(line, &problem)) {
      const TuningKey key = entry->key;
      const TuningEntry* known = database.find(key);
      // Two of one key come from a merge: the newer one counts.
      if (known == nullptr || known->date <= entry->date) database.put(std::move(*entry));
      const auto place = std::ranges::find_if(
          database.lines_, [&](const Line& each) { return each.entry.key == key; });
      std::ranges::move(before, std::back_inserter(place->before));
      before.clear();
      continue;
    }
    warn(problem);
    before.push_back(std::move(line));
  }
  if (!headed && !database.lines_.empty()) {
    warnings->push_back(fmt::format("{}: the first line is not '{}'", file, first_line));
  }
  database.rest_ = std::move(before);
  return database;
}

std::string TuningDatabase::print() const {
  std::string text = fmt::format("{}\n", first_line);
  for (const Line& line : lines_) {
    for (const std::string& other : line.before) text += other + "\n";
    text += entry_text(line.entry) + "\n";
  }
  for (const std::string& other : rest_) text += other + "\n";
  return text;
}

const TuningEntry* TuningDatabase::find(const TuningKey& key) const {
  const auto found = std::ranges::lower_bound(
      lines_, key, {}, [](const Line& line) -> const auto& { return line.entry.key; });
  return found == lines_.end() || found->entry.key != key ? nullptr : &found->entry;
}

void TuningDatabase::put(TuningEntry entry) {
  const auto place = std::ranges::lower_bound(
      lines_, entry.key, {}, [](const Line& line) -> const auto& { return line.entry.key; });
  if (place != lines_.end() && place->entry.key == entry.key) {
    place->entry = std::move(entry);
  } else {
    lines_.insert(place, {std::move(entry), {}});
  }
}

}  // namespace ingot
