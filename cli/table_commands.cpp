// ops, devices, cache: what needs no program.

#include <cstdio>

#include <fmt/format.h>
#include <ingot/ingot.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "session.h"

namespace ingot::cli {

int ops(const Arguments& arguments) {
  fmt::print("{}", arguments.json       ? ops_json() + "\n"
                   : arguments.markdown ? ops_markdown()
                   : arguments.header   ? ops_header()
                                        : ops_text());
  return 0;
}

int devices(const Arguments& arguments) {
  const bool measure = !arguments.no_measure;
  std::string text;
  {
    ProgressLine line;
    text = arguments.json ? devices_json(measure, line.callback()) + "\n"
                          : devices_text(measure, line.callback());
  }
  fmt::print("{}", text);
  return 0;
}

int cache(const Arguments& arguments) {
  const CacheSummary summary = arguments.cache_action == "verify"  ? cache_verify(arguments.cache)
                               : arguments.cache_action == "clear" ? cache_clear(arguments.cache)
                                                                   : cache_stats(arguments.cache);
  const bool found_damage = summary.damaged > 0 && arguments.cache_action == "verify";
  const int code = found_damage ? 1 : 0;
  if (arguments.json) {
    const nlohmann::ordered_json result = {{"directory", summary.directory},
                                           {"entries", summary.entries},
                                           {"bytes", summary.bytes},
                                           {"damaged", summary.damaged}};
    fmt::print("{}\n", result.dump(2));
    return code;
  }
  const char* const what = arguments.cache_action == "clear"    ? " removed"
                           : arguments.cache_action == "verify" ? " verified"
                                                                : "";
  fmt::print("{}: {} {}{}, {} bytes, {} damaged{}\n", summary.directory, summary.entries,
             summary.entries == 1 ? "entry" : "entries", what, summary.bytes, summary.damaged,
             found_damage ? " and removed" : "");
  return code;
}

}  // namespace ingot::cli
