#include "html/page.h"

#include <vector>

#include "base/error.h"
#include "html/page_text.h"

namespace ingot::html {
namespace {

// What a page is made of, scripts in the order in which they need each other.
struct Parts {
  const char* body;
  std::vector<const char*> styles, scripts;
};

Parts parts_of(Page kind) {
  switch (kind) {
    case Page::lab:
      return {"lab.html",
              {"page.css", "lab.css"},
              {"dom.js", "format.js", "occupancy.js", "exact.js", "grid_simulation.js",
               "log_axes.js", "roofline_chart.js", "kernels.js", "fields.js", "panel.js",
               "panel_roofline.js", "panel_traffic.js", "panel_tiling.js", "panel_residency.js",
               "panel_synchronization.js", "panel_numerics.js", "panel_kernels.js", "lab.js"}};
    case Page::report:
      return {"report.html",
              {"page.css", "report.css"},
              {"dom.js",           "format.js",         "log_axes.js",       "roofline_chart.js",
               "kernels.js",       "graph_layout.js",   "graph_labels.js",   "graph_map.js",
               "program_graph.js", "graph_window.js",   "graph_view.js",     "report_table.js",
               "report_bars.js",   "report_explain.js", "report_compare.js", "report_bench.js",
               "sweep_chart.js",   "report_sweep.js",   "report_tune.js",    "report.js"}};
  }
  throw Error(ErrorKind::internal, "an unknown page");
}

std::string_view asset(std::string_view name) {
  const std::string_view text = embedded(name);
  if (text.empty()) throw Error(ErrorKind::internal, fmt::format("no asset '{}'", name));
  return text;
}

std::string joined(const std::vector<const char*>& names) {
  std::string text;
  for (const char* name : names) text += asset(name);
  return text;
}

std::string escaped(std::string_view plain) {
  std::string text;
  for (const char c : plain) {
    if (c == '&') {
      text += "&amp;";
    } else if (c == '<') {
      text += "&lt;";
    } else {
      text += c;
    }
  }
  return text;
}

// No name of a user's tensor ends the element that holds the data: in JSON '<' stands in strings
// only, where it may be written as \u003c.
std::string data_text(std::string_view json) {
  std::string text;
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string page(Page kind, std::string_view title, std::string_view json) {
  const Parts parts = parts_of(kind);
  const std::pair<std::string_view, std::string> values[] = {
      {"title", escaped(title)},
      {"style", joined(parts.styles)},
      {"body", std::string(asset(parts.body))},
      {"data", data_text(json)},
      {"script", joined(parts.scripts)}};
  // The template names each value once, as @name@; what is put in is not looked at again.
  std::string text;
  std::string_view rest = asset("page.html");
  for (const auto& [name, value] : values) {
    const std::string mark = fmt::format("@{}@", name);
    const size_t at = rest.find(mark);
    if (at == rest.npos) throw Error(ErrorKind::internal, "page.html lacks " + mark);
    text += rest.substr(0, at);
    text += value;
    rest.remove_prefix(at + mark.size());
  }
  return text + std::string(rest);
}

}  // namespace ingot::html
