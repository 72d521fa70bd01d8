// print, plan, lower, emit: the intermediate forms and the sources.

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "session.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

void show(const Arguments& arguments, const Session& session, const std::string& text) {
  if (arguments.json) {
    const Json result = {{"graph", session.program.name()},
                         {"device", arguments.device},
                         {"text", text},
                         {"environment", Json::parse(environment_json(session.options))}};
    fmt::print("{}\n", result.dump(2));
  } else {
    fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
  }
}

// Writes the sources and their resource reports; gives the paths.
std::vector<std::string> write_sources(const std::vector<Compiled::Source>& sources,
                                       const std::string& folder) {
  make_folder(folder);
  std::vector<std::string> paths;
  for (const Compiled::Source& source : sources) {
    const std::string stem = folder + "/" + file_name_of(source.name);
    if (!source.text.empty()) {
      paths.push_back(stem + (source.language == "cuda" ? ".cu" : ".cpp"));
      write_whole_file(paths.back(), source.text);
    }
    write_whole_file(stem + ".json", source.resources_json + "\n");
    paths.push_back(stem + ".json");
  }
  return paths;
}

void note_obstacles(const Arguments& arguments, const Compiled& compiled) {
  for (const std::string& obstacle : compiled.obstacles()) {
    note(fmt::format("the program cannot run on {} yet: {}", arguments.device, obstacle));
  }
}

}  // namespace

int print(const Arguments& arguments) {
  const Session session = open_session(arguments);
  show(arguments, session, session.program.print());
  return 0;
}

int plan(const Arguments& arguments) {
  Session session = open_session(arguments);
  session.options.sizes = complete_sizes(session);
  const Compiled compiled = plan_only(session);
  note_obstacles(arguments, compiled);
  show(arguments, session, compiled.plan_text());
  return 0;
}

int lower(const Arguments& arguments) {
  Session session = open_session(arguments);
  session.options.sizes = complete_sizes(session);
  const Compiled compiled = plan_only(session);
  note_obstacles(arguments, compiled);
  note_edited_not_run(compiled.edited_not_run());
  show(arguments, session, compiled.lower_text());
  return 0;
}

int emit(const Arguments& arguments) {
  Session session = open_session(arguments);
  session.options.sizes = complete_sizes(session);
  const Compiled compiled = plan_only(session);
  note_obstacles(arguments, compiled);
  note_edited_not_run(compiled.edited_not_run());
  const std::vector<Compiled::Source> sources = compiled.sources();
  std::vector<std::string> paths;
  if (!arguments.out.empty()) {
    paths = write_sources(sources, arguments.out);
  }
  if (arguments.json) {
    Json list = Json::array();
    for (const Compiled::Source& source : sources) {
      list.push_back({{"name", source.name},
                      {"language", source.language.empty() ? Json(nullptr) : Json(source.language)},
                      {"text", source.text.empty() ? Json(nullptr) : Json(source.text)},
                      {"resources", Json::parse(source.resources_json)}});
    }
    const Json result = {{"graph", session.program.name()},
                         {"device", arguments.device},
                         {"files", paths},
                         {"sources", list},
                         {"environment", Json::parse(environment_json(session.options))}};
    fmt::print("{}\n", result.dump(2));
    return 0;
  }
  for (const std::string& path : paths) {
    fmt::print("{}\n", path);
  }
  for (const Compiled::Source& source :
       arguments.out.empty() ? sources : std::vector<Compiled::Source>()) {
    fmt::print("{}\n", source.text.empty() ? source.resources_json : source.kernel);
  }
  return 0;
}

}  // namespace ingot::cli
