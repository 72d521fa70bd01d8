// explain, check, tune: the reports. bench_command.cpp has the longest of them.

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

}  // namespace ingot::cli
