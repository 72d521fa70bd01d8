// bench: separate against fused, at one size or several, and against an earlier report.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "session.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::json;
using Dims = std::vector<std::string>;  // NAME=N each

// "B=1,8,64": B=1, B=8, B=64.
Dims sizes_of_sweep(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
    throw Error(ErrorKind::input, fmt::format("--sweep takes NAME=N,N,..., not '{}'", text));
  }
  Dims dims;
  for (size_t at = equals + 1; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end == at) {
      throw Error(ErrorKind::input, fmt::format("--sweep {}: a size is missing", text));
    }
    dims.push_back(text.substr(0, equals + 1) + text.substr(at, end - at));
    at = end + 1;
  }
  return dims;
}

// Each of every sweep with each of the others; the last changes fastest.
std::vector<Dims> points_of(const std::vector<std::string>& sweeps) {
  std::vector<Dims> points = {{}};
  for (const std::string& sweep : sweeps) {
    std::vector<Dims> longer;
    for (const Dims& point : points) {
      for (const std::string& dim : sizes_of_sweep(sweep)) {
        longer.push_back(point);
        longer.back().push_back(dim);
      }
    }
    points = std::move(longer);
  }
  return points;
}

// `ingot run` of the same program, which a profiler of a GPU runs. `fusion`: "off", or as asked
// for.
std::vector<std::string> replay(const Arguments& arguments, const Dims& dims,
                                const std::string& fusion) {
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe").string(), "run",
                                    arguments.file};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--device", arguments.device);
  add("--numerics", arguments.numerics);
  add("--fusion", fusion.empty() ? arguments.fusion : fusion);
  for (const std::string& dim : arguments.dims) add("--dim", dim);
  for (const std::string& dim : dims) add("--dim", dim);
  for (const std::string& input : arguments.inputs) add("--input", input);
  add("--cache", arguments.cache);
  add("--tuning", arguments.tuning);
  if (arguments.allow_memory) words.push_back("--allow-memory");
  if (!fusion.empty()) return words;  // nothing of separate kernels is edited
  add("--plan", arguments.plan);
  for (const std::string& kernel : arguments.kernels) add("--kernel", kernel);
  return words;
}

// `dims`: those of a sweep's point.
std::string measured(const Session& session, const Arguments& arguments, const Dims& dims,
                     Progress progress) {
  const Compiled compiled = compile(session, arguments);
  BenchOptions options;
  options.repeats = arguments.repeats;
  options.progress = std::move(progress);
  options.counters = arguments.counters;
  options.replay = [&](const std::string& fusion) { return replay(arguments, dims, fusion); };
  return compiled.bench_json(inputs_for(session, compiled), options);
}

// A program of its own for each size, as `--dim` would have it.
std::string swept(Session session, const Arguments& arguments) {
  const std::vector<Dims> points = points_of(arguments.sweeps);
  std::vector<Sizes> sizes;
  for (const Dims& point : points) sizes.push_back(sizes_with(session, point));
  session.options.sizes = sizes.front();
  const Sizes complete = complete_sizes(session);  // says once what is not given
  ProgressLine line;
  const Progress shown = line.callback();
  std::vector<std::string> reports;
  for (size_t i = 0; i < points.size(); ++i) {
    session.options.sizes = sizes[i];
    session.options.sizes.insert(complete.begin(), complete.end());
    Progress progress;
    if (shown) {
      progress = [&](double done, const std::string& what) {
        shown((static_cast<double>(i) + done) / static_cast<double>(points.size()),
              fmt::format("{}: {}", fmt::join(points[i], ", "), what));
      };
    }
    reports.push_back(measured(session, arguments, points[i], std::move(progress)));
  }
  return Compiled::bench_sweep_json(reports);
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

bool has_failed(const Json& report) {
  if (report.contains("comparison") && report["comparison"]["slower"] > 0) return true;
  if (!report.contains("sweep")) return report["within_contract"] == false;
  return std::ranges::any_of(report["sweep"], has_failed);
}

}  // namespace

int bench(const Arguments& arguments) {
  const std::string base = arguments.compare.empty() ? "" : read_whole_file(arguments.compare);
  Session session = open_session(arguments);
  std::string json;
  if (arguments.sweeps.empty()) {
    session.options.sizes = complete_sizes(session);
    ProgressLine progress;
    json = measured(session, arguments, {}, progress.callback());
  } else {
    json = swept(std::move(session), arguments);
  }
  if (!arguments.compare.empty()) json = compared(json, base, arguments.compare);
  if (!arguments.html.empty()) write_whole_file(arguments.html, bench_html(json));
  fmt::print("{}\n", arguments.json ? json : Compiled::bench_text(json));
  return has_failed(Json::parse(json)) ? 1 : 0;
}

}  // namespace ingot::cli
