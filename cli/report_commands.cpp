// explain, check, bench: the reports.

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "session.h"

namespace ingot::cli {
namespace {

// With a size for every named dimension.
Session open_complete(const Arguments& arguments) {
  Session session = open_session(arguments);
  session.options.sizes = complete_sizes(session);
  return session;
}

std::vector<Tensor> inputs_for(const Session& session, const Compiled& compiled) {
  std::vector<Tensor> inputs = make_inputs(session, session.options.sizes);
  require_shapes(session, compiled, inputs);
  return inputs;
}

// The report with its comparison; errors name the file of the base.
std::string compared(const std::string& json, const std::string& base, const std::string& path) {
  try {
    return Compiled::bench_compared_json(json, base);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("--compare {}: {}", path, error.message()), {},
                error.notes());
  }
}

bool has_failed(const nlohmann::json& report) {
  const bool slower = report.contains("comparison") && report["comparison"]["slower"] > 0;
  return slower || report["within_contract"] == false;
}

}  // namespace

int explain(const Arguments& arguments) {
  const Session session = open_complete(arguments);
  const Compiled compiled = arguments.measure ? compile(session, arguments) : plan_only(session);
  const std::string json = compiled.explain_json(arguments.measure);
  if (!arguments.html.empty()) {
    write_whole_file(arguments.html, explain_html(json, compiled.sources()));
  }
  if (!arguments.dot.empty()) write_whole_file(arguments.dot, explain_dot(json));
  if (!arguments.trace.empty()) write_whole_file(arguments.trace, explain_trace(json));
  fmt::print("{}\n", arguments.json ? json : Compiled::explain_text(json));
  return 0;
}

int tune(const Arguments& arguments) {
  const Session session = open_complete(arguments);
  const Compiled compiled = compile(session, arguments);
  if (!arguments.register_caps.empty()) {
    const std::string json = compiled.register_caps_json(arguments.register_caps);
    if (!arguments.html.empty()) write_whole_file(arguments.html, tune_html(json));
    fmt::print("{}\n", arguments.json ? json : Compiled::register_caps_text(json));
    return 0;
  }
  const std::vector<Tensor> inputs = inputs_for(session, compiled);
  std::string json;
  {
    ProgressLine progress;
    json = compiled.tune_json(inputs, {arguments.budget, progress.callback()});
  }
  if (!arguments.html.empty()) write_whole_file(arguments.html, tune_html(json));
  fmt::print("{}\n", arguments.json ? json : Compiled::tune_text(json));
  return 0;
}

int check(const Arguments& arguments) {
  const Session session = open_complete(arguments);
  const Compiled compiled = compile(session, arguments);
  const std::vector<Tensor> inputs = inputs_for(session, compiled);
  CheckResult result;
  {
    ProgressLine progress;
    result = compiled.check(inputs, {arguments.rtol, arguments.atol, progress.callback()});
  }
  fmt::print("{}\n", arguments.json ? result.report_json : result.report_text);
  return result.passed ? 0 : 1;
}

int bench(const Arguments& arguments) {
  const std::string base = arguments.compare.empty() ? "" : read_whole_file(arguments.compare);
  const Session session = open_complete(arguments);
  const Compiled compiled = compile(session, arguments);
  const std::vector<Tensor> inputs = inputs_for(session, compiled);
  std::string json;
  {
    ProgressLine progress;
    json = compiled.bench_json(inputs, {arguments.repeats, progress.callback()});
  }
  if (!arguments.compare.empty()) json = compared(json, base, arguments.compare);
  if (!arguments.html.empty()) write_whole_file(arguments.html, bench_html(json));
  fmt::print("{}\n", arguments.json ? json : Compiled::bench_text(json));
  return has_failed(nlohmann::json::parse(json)) ? 1 : 0;
}

}  // namespace ingot::cli
