// run: compiles, runs, summarises the outputs and writes them.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "session.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t shown_values = 6;

struct Summary {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double mean = 0;
  int64_t nans = 0;  // left out of the three above
};

double number_at(const Tensor& tensor, int64_t i) {
  return is_float(tensor.dtype()) ? tensor.get_f64(i) : static_cast<double>(tensor.get_i64(i));
}

Summary summarise(const Tensor& tensor) {
  Summary summary;
  double sum = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double value = number_at(tensor, i);
    if (std::isnan(value)) {
      ++summary.nans;
      continue;
    }
    summary.min = std::min(summary.min, value);
    summary.max = std::max(summary.max, value);
    sum += value;
  }
  summary.mean = sum / static_cast<double>(tensor.size() - summary.nans);
  return summary;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// The sign of a NaN means nothing.
std::string real_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value);
}

std::string value_text(const Tensor& tensor, int64_t i) {
  return is_float(tensor.dtype()) ? real_text(tensor.get_f64(i))
                                  : fmt::format("{}", tensor.get_i64(i));
}

void print_output(const std::string& name, const Tensor& tensor) {
  fmt::print("{}: {}{}", name, dtype_name(tensor.dtype()), shape_text(tensor.shape()));
  if (tensor.size() == 0) {
    fmt::print(", empty\n");
    return;
  }
  const Summary summary = summarise(tensor);
  if (summary.nans < tensor.size()) {
    fmt::print(", min {}, max {}, mean {}", real_text(summary.min), real_text(summary.max),
               real_text(summary.mean));
  }
  if (summary.nans > 0) {
    fmt::print(", {} NaN", summary.nans);
  }
  std::string values;
  for (int64_t i = 0; i < std::min(shown_values, tensor.size()); ++i) {
    values += (i == 0 ? "" : ", ") + value_text(tensor, i);
  }
  fmt::print("\n  {}{}\n", values, tensor.size() > shown_values ? ", …" : "");
}

Json output_json(const std::string& name, const Tensor& tensor, const std::string& file) {
  const Summary summary = summarise(tensor);
  const bool any = summary.nans < tensor.size();
  Json values = Json::array();
  for (int64_t i = 0; i < std::min(shown_values, tensor.size()); ++i) {
    values.push_back(number_at(tensor, i));
  }
  return {{"name", name},
          {"dtype", dtype_name(tensor.dtype())},
          {"shape", tensor.shape()},
          {"min", any ? Json(summary.min) : Json(nullptr)},
          {"max", any ? Json(summary.max) : Json(nullptr)},
          {"mean", any ? Json(summary.mean) : Json(nullptr)},
          {"nans", summary.nans},
          {"first_values", values},
          {"file", file.empty() ? Json(nullptr) : Json(file)}};
}

// All outputs are written to temporary files first: either all of them appear, or none.
std::vector<std::string> write_outputs(const std::vector<Port>& ports,
                                       const std::vector<Tensor>& outputs,
                                       const std::string& folder) {
  make_folder(folder);
  std::vector<std::string> paths, temporaries;
  std::set<std::string> taken;
  try {
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::string name = file_name_of(ports[i].name);
      for (int suffix = 1; !taken.insert(name).second; ++suffix) {
        name = fmt::format("{}_{}", file_name_of(ports[i].name), suffix);
      }
      paths.push_back(folder + "/" + name + ".npy");
      temporaries.push_back(fmt::format("{}/.{}.{}.npy", folder, name, getpid()));
      write_npy(temporaries.back(), outputs[i]);
    }
    for (size_t i = 0; i < paths.size(); ++i) {
      if (std::rename(temporaries[i].c_str(), paths[i].c_str()) != 0) {
        throw Error(ErrorKind::input,
                    fmt::format("cannot write {}: {}", paths[i], std::strerror(errno)));
      }
    }
  } catch (...) {
    for (const std::string& temporary : temporaries) {
      std::remove(temporary.c_str());
    }
    throw;
  }
  return paths;
}

}  // namespace

int run(const Arguments& arguments) {
  // Few models have no product; what one costs once runs beside reading the file.
  const std::shared_ptr<void> products =
      arguments.file.ends_with(".onnx") ? start_products() : nullptr;
  Session session = open_session(arguments);
  session.options.sizes = complete_sizes(session);
  const std::vector<Tensor> inputs = make_inputs(session, session.options.sizes);
  const Compiled compiled = compile(session, arguments);
  require_shapes(session, compiled, inputs);
  const std::map<std::string, std::string> idle = compiled.edited_not_run(inputs);
  note_edited_not_run(idle);
  const std::vector<Tensor> outputs = compiled.run(inputs);
  const std::vector<Port> ports = session.program.outputs();
  std::vector<std::string> paths(outputs.size());
  if (!arguments.out.empty()) {
    paths = write_outputs(ports, outputs, arguments.out);
  }
  Json list = Json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (arguments.json) {
      list.push_back(output_json(ports[i].name, outputs[i], paths[i]));
      continue;
    }
    print_output(ports[i].name, outputs[i]);
    if (!paths[i].empty()) {
      fmt::print("  written to {}\n", paths[i]);
    }
  }
  if (arguments.json) {
    const Json result = {{"graph", session.program.name()},
                         {"device", arguments.device},
                         {"numerics", arguments.numerics},
                         {"dims", session.options.sizes},
                         {"outputs", list},
                         {"edited_not_run", idle},
                         {"environment", Json::parse(environment_json(session.options))}};
    fmt::print("{}\n", result.dump(2));
  }
  return 0;
}

}  // namespace ingot::cli
