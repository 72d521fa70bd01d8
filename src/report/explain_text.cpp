// explain_text: the object of explain_json for a person. Reads nothing but that object.

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "plan/plan_words.h"
#include "report/number_text.h"
#include "report/report.h"

namespace ingot {
namespace {

using Json = ReportJson;

constexpr size_t most_listed = 8;
constexpr size_t longest_name = 40;

// Long names of ONNX models are paths: the last two parts tell them apart well enough for a person,
// and the JSON has them whole.
std::string short_paths(const std::string& line) {
  std::string result;
  for (size_t at = 0; at < line.size();) {
    size_t end = line.find_first_of(" ,'();", at);
    end = end == std::string::npos ? line.size() : std::max(end, at + 1);
    std::string word = line.substr(at, end - at);
    const size_t last = word.rfind('/');
    const size_t before =
        last == std::string::npos || last == 0 ? std::string::npos : word.rfind('/', last - 1);
    if (word.size() > longest_name && before != std::string::npos) {
      word = "…" + word.substr(before);
    }
    result += word;
    at = end;
  }
  return result;
}

std::string list_text(const Json& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == most_listed && names.size() > most_listed + 1) {
      return text + fmt::format(" and {} more", names.size() - most_listed);
    }
    text += (text.empty() ? "" : ", ") + short_paths(names[i].get<std::string>());
  }
  return text.empty() ? "nothing" : text;
}

std::string bytes_of(const Json& value) { return bytes_text(value.get<int64_t>()); }

std::string short_bytes_of(const Json& value) { return short_bytes_text(value.get<int64_t>()); }

std::string count_of(const Json& value, std::string_view one) {
  return counted(value.get<int64_t>(), one);
}

std::string time_of(const Json& value) {
  return value.is_null() ? "not measured" : time_text(value.get<double>());
}

void add_totals(const Json& explained, std::string& out) {
  const Json& totals = explained["totals"];
  std::string dims;
  for (const auto& [name, value] : explained["dims"].items()) {
    dims += fmt::format(", {} = {}", name, value.get<int64_t>());
  }
  out += fmt::format("{} on {}, numerics {}{}\n", explained["graph"].get<std::string>(),
                     explained["device"].get<std::string>(),
                     explained["numerics"].get<std::string>(), dims);
  out += fmt::format("  {}, {} separate -> {} fused\n", count_of(totals["ops"], "op"),
                     count_of(totals["kernels_separate"], "kernel"),
                     totals["kernels_fused"].get<int64_t>());
  const int64_t separate = totals["bytes_separate"].get<int64_t>();
  const int64_t saved = totals["bytes_saved"].get<int64_t>();
  out += fmt::format(
      "  bytes at device memory: {} -> {}, {} saved ({:.1f} %)\n",
      bytes_of(totals["bytes_separate"]), bytes_of(totals["bytes_fused"]), bytes_text(saved),
      separate == 0 ? 0.0 : 100.0 * static_cast<double>(saved) / static_cast<double>(separate));
  out += fmt::format("  peak memory: {} -> {}\n", bytes_of(totals["peak_memory_separate"]),
                     bytes_of(totals["peak_memory_fused"]));
  out += fmt::format("  predicted: {} -> {}\n", time_of(totals["predicted_us_separate"]),
                     time_of(totals["predicted_us_fused"]));
  if (!totals["measured_us_fused"].is_null()) {
    out += fmt::format(
        "  measured:  {} -> {} (kernels only, random data; a copy of the fused bytes "
        "runs at {:.1f} GB/s)\n",
        time_of(totals["measured_us_separate"]), time_of(totals["measured_us_fused"]),
        totals["copy_gbs"].get<double>());
  }
  if (explained.contains("tuning") && !explained["tuning"].is_null() &&
      explained["tuning"]["groups"] > 0) {
    out += fmt::format("  measured before: {} in {}\n",
                       counted(explained["tuning"]["groups"].get<int64_t>(), "group"),
                       explained["tuning"]["database"].get<std::string>());
  }
  const auto blocked = std::ranges::count_if(
      explained["groups"], [](const Json& group) { return !group["obstacle"].is_null(); });
  if (blocked > 0) {
    out += fmt::format("  cannot run on {} yet: {} no form for a GPU\n",
                       explained["device"].get<std::string>(),
                       blocked == 1 ? "1 kernel has" : fmt::format("{} kernels have", blocked));
  }
  out += edited_not_run_text(explained);
}

std::string schedule_text(const Json& group) {
  std::string text = group["schedule"].is_null() ? "none" : group["schedule"].get<std::string>();
  if (group["variants"].size() < 2) {
    return text;
  }
  std::string variants;
  for (const Json& variant : group["variants"]) {
    std::string guards;
    for (const Json& guard : variant["guards"]) {
      guards += (guards.empty() ? " if " : " and ") + guard.get<std::string>();
    }
    variants += (variants.empty() ? "" : "; ") + variant["name"].get<std::string>() +
                (guards.empty() ? " otherwise" : guards);
  }
  return fmt::format("{} (variants: {})", text, variants);
}

void add_resources(const Json& resources, std::string& out) {
  if (resources["registers"].is_null()) {
    return;
  }
  out += fmt::format(
      "    {}: {} registers, {} bytes spilled, {} bytes shared, {} threads a block, "
      "occupancy {:.0f} % (limited by {})\n",
      resources["source"].get<std::string>(), resources["registers"].get<int>(),
      resources["spill_store_bytes"].get<int64_t>(), resources["shared_bytes"].get<int64_t>(),
      resources["threads_per_block"].get<int>(), 100 * resources["occupancy"].get<double>(),
      resources["occupancy_limit"].get<std::string>());
  if (!resources["instructions"].is_null()) {
    out += fmt::format("    {} instructions, {} of them special functions, {} bytes of stack\n",
                       resources["instructions"].get<int64_t>(),
                       resources["special_instructions"].get<int64_t>(),
                       resources["stack_bytes"].get<int64_t>());
  }
}

void add_group(const Json& group, std::string& out) {
  out += fmt::format("\ngroup {} {} ({}): {}\n", group["id"].get<int>(),
                     group["name"].get<std::string>(), group["kind"].get<std::string>(),
                     list_text(group["ops"]));
  if (const std::string reason = group["reason"]; !reason.empty()) {
    out += fmt::format("    why: {}\n", short_paths(reason));
  }
  out += fmt::format("    reads {} ({}), writes {} ({})", list_text(group["inputs"]),
                     short_bytes_of(group["bytes_read"]), list_text(group["outputs"]),
                     short_bytes_of(group["bytes_written"]));
  if (group["bytes_workspace"].get<int64_t>() != 0) {
    out += fmt::format(", workspace {}", short_bytes_of(group["bytes_workspace"]));
  }
  out += fmt::format("; saves {}\n", short_bytes_of(group["bytes_saved"]));
  for (const char* key : {"materialized", "recomputed"}) {
    if (!group[key].empty()) {
      out += fmt::format("    {}: {}\n", key, list_text(group[key]));
    }
  }
  out += fmt::format("    {}-bound, {:.2f} FLOP a byte; schedule {}{}\n",
                     group["bound"].get<std::string>(), group["intensity"].get<double>(),
                     schedule_text(group),
                     group["batch_invariant"].get<bool>() ? "" : "; bits may depend on the batch");
  if (!group["obstacle"].is_null()) {
    out +=
        fmt::format("    does not run on this device: {}\n", group["obstacle"].get<std::string>());
  }
  add_resources(group["resources"], out);
  out += fmt::format("    predicted {}", time_of(group["predicted_us"]));
  if (!group["measured_us"].is_null()) {
    out += fmt::format(", measured {}", time_of(group["measured_us"]));
    if (group["bound"] == "memory") {
      out += fmt::format(" = {:.0f} % of the copy rate", group["percent_of_ceiling"].get<double>());
    }
  }
  out += "\n";
}

DecisionKind kind_of(const Json& decision) {
  return decision_kind(decision["kind"].get<std::string>());
}

// "3 edges looked at, 1 formula": of all lines that follow.
std::string counts_text(const Json& decisions) {
  const auto count_of_kind = [&](DecisionKind kind) {
    return std::ranges::count_if(decisions,
                                 [&](const Json& decision) { return kind_of(decision) == kind; });
  };
  const auto edges = std::ranges::count_if(
      decisions, [](const Json& decision) { return is_edge(kind_of(decision)); });
  std::string text = counted(edges, "edge") + " looked at";
  for (const auto& [kind, one] : {std::pair{DecisionKind::rewrite, "rewritten op"},
                                  {DecisionKind::formula, "formula"},
                                  {DecisionKind::resources, "register step"}}) {
    if (const auto count = count_of_kind(kind); count > 0) text += ", " + counted(count, one);
  }
  return text;
}

void add_decisions(const Json& decisions, std::string& out) {
  out += fmt::format("\ndecisions ({})\n", counts_text(decisions));
  size_t width = 0;
  const auto edge = [](const Json& decision) {
    const auto name = [](const Json& json) {
      return json.is_null() ? std::string("-") : short_paths(json.get<std::string>());
    };
    const DecisionKind kind = kind_of(decision);
    if (kind == DecisionKind::composite && decision["producer"] == decision["consumer"]) {
      return name(decision["consumer"]);  // parts of one op
    }
    if (kind == DecisionKind::rewrite && decision["producer"].is_null()) {
      return name(decision["consumer"]);  // of which nothing is left
    }
    const bool one_kernel = kind == DecisionKind::resources || kind == DecisionKind::measurement;
    const std::string_view between = kind == DecisionKind::sibling ? " | "
                                     : one_kernel                  ? " … "
                                                                   : " -> ";
    return fmt::format("{}{}{}", name(decision["producer"]), between, name(decision["consumer"]));
  };
  for (const Json& decision : decisions) {
    width = std::max(width, edge(decision).size());
  }
  for (const Json& decision : decisions) {
    const int64_t saved = decision["bytes_saved"].get<int64_t>();
    std::string line =
        fmt::format("  {}  {:<{}}  {}", decision["fused"].get<bool>() ? "yes" : "no ",
                    edge(decision), width, decision["reason"].get<std::string>());
    if (saved != 0) {
      line += fmt::format(", saves {}", short_bytes_text(saved));
    }
    if (!decision["bytes_if_materialized"].is_null()) {
      line += fmt::format(" (materialized {}", short_bytes_of(decision["bytes_if_materialized"]));
      line +=
          decision["bytes_if_recomputed"].is_null()
              ? ")"
              : fmt::format(", recomputed {})", short_bytes_of(decision["bytes_if_recomputed"]));
    }
    if (const std::string detail = decision["detail"]; !detail.empty()) {
      line += ": " + short_paths(detail);
    }
    out += line + "\n";
  }
}

// A line a value: "bytes, us" of both choices, the memory and for which kernels, the choice.
void add_save_or_recompute(const Json& rows, std::string& out) {
  if (rows.empty()) return;
  std::vector<std::array<std::string, 4>> lines = {
      {"value -> read by", "saved", "computed again", "memory held"}};
  for (const Json& row : rows) {
    const auto us = [&](const char* key) { return time_text(row[key].get<double>()); };
    std::array<std::string, 4> line;
    line[0] = fmt::format("{} -> {}", short_paths(row["value"].get<std::string>()),
                          list_text(row["consumers"]));
    line[1] = fmt::format("{}, {}", short_bytes_of(row["bytes_if_saved"]), us("us_if_saved"));
    line[2] = row["us_if_recomputed"].is_null()
                  ? "-"
                  : fmt::format("{}, {:.3g} FLOP, {}", short_bytes_of(row["bytes_if_recomputed"]),
                                row["flops_if_recomputed"].get<double>(), us("us_if_recomputed"));
    line[3] = row["held_from"].is_null()
                  ? "none"
                  : fmt::format("{}, groups {} to {}", short_bytes_of(row["memory_bytes"]),
                                row["held_from"].get<int>(), row["held_to"].get<int>());
    lines.push_back(line);
  }
  std::array<size_t, 4> width{};
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  }
  out += fmt::format("\nsave or recompute ({} between kernels; times predicted)\n",
                     counted(static_cast<int64_t>(rows.size()), "value"));
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto& line = lines[i];
    out += fmt::format("  {:<{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", line[0], width[0], line[1],
                       width[1], line[2], width[2], line[3], width[3],
                       i == 0 ? "chosen"
                              : fmt::format("{}: {}", rows[i - 1]["chosen"].get<std::string>(),
                                            short_paths(rows[i - 1]["why"].get<std::string>())));
  }
}

}  // namespace

std::string edited_not_run_text(const Json& report) {
  std::string text;
  if (!report.contains("edited_not_run")) return text;
  for (const auto& [edited, running] : report["edited_not_run"].items()) {
    text += fmt::format("the edited kernel {} is not used: at these sizes {} runs\n", edited,
                        running.get<std::string>());
  }
  return text;
}

std::string explain_text(const Json& explained) {
  std::string out;
  add_totals(explained, out);
  for (const Json& group : explained["groups"]) {
    add_group(group, out);
  }
  add_save_or_recompute(explained["save_or_recompute"], out);
  add_decisions(explained["decisions"], out);
  const Json& environment = explained["environment"];
  out +=
      fmt::format("\ningot {} ({}), {}, ", environment["version"].get<std::string>(),
                  environment["git"].get<std::string>(), environment["device"].get<std::string>());
  const Json &compilers = environment["compilers"], &problem = explained["compiler_problem"];
  if (!problem.is_null()) {
    out += fmt::format("resources estimated: {}, ", problem.get<std::string>());
  } else if (compilers.contains("nvrtc") && !compilers["nvrtc"].is_null()) {
    out += fmt::format("NVRTC {}, ", compilers["nvrtc"].get<std::string>());
  }
  if (explained["device"] == "cpu") {
    const Json& compiler = compilers["c++"];
    out += fmt::format("{} threads, {}, ", environment["threads"].get<int>(),
                       compiler.is_null() ? "no compiler" : compiler.get<std::string>());
  }
  out += environment["date"].get<std::string>() + "\n";
  return out;
}

}  // namespace ingot
