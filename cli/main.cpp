// The program `ingot`: options, dispatch, exit codes.

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <new>
#include <system_error>

#include <fmt/format.h>
#include <ingot/ingot.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "session.h"

namespace ingot::cli {
namespace {

enum ExitCode { done = 0, mismatch = 1, wrong_input = 2, unsupported = 3, internal_error = 4 };

using Command = int (*)(const Arguments&);

// What a subcommand takes beside FILE and the options of all.
enum Takes : unsigned { nothing = 0, data = 1, bounds = 2, folder = 4, edits = 8, no_file = 16 };

struct Subcommand {
  const char* name;
  const char* what;
  Command command;
  unsigned takes;
};

constexpr Subcommand program_commands[] = {
    {"explain", "what is fused, why, why not, bytes, resources, time", explain, data | edits},
    {"run", "compile and run; writes or summarises outputs", run, data | folder | edits},
    {"check", "run fused, separate and reference and compare; exit code 1 on a mismatch", check,
     data | bounds | edits},
    {"bench", "separate against fused in one run", bench, data | edits},
    {"tune", "times other forms of each group and keeps the fastest; bounds on registers", tune,
     data},
    {"emit", "generated sources and their resource reports", emit, folder | edits},
    {"print", "the graph as text; a FILE may hold it", print, nothing},
    {"plan", "the plan as text; --plan takes it, edited or not", plan, edits},
    {"lower", "the kernels' loops as text; --kernel takes it, edited or not", lower, edits},
    {"lab", "the interactive page, with FILE's kernels in it; served to this machine", lab,
     data | edits | no_file},
};

void add_program_options(CLI::App& app, const Subcommand& subcommand, Arguments& arguments) {
  app.add_option("FILE", arguments.file, ".ingot text or .onnx")
      ->required((subcommand.takes & no_file) == 0);
  app.add_option(
      "--device", arguments.device,
      fmt::format("cuda, cuda:1, or one of {}; default cuda:0 where there is one, else cpu",
                  fmt::join(device_names(), ", ")));
  app.add_option("--numerics", arguments.numerics, "exact, wide or fast; default exact");
  app.add_option("--fusion", arguments.fusion,
                 "auto: where it pays; off: one kernel per op; all: whatever is legal");
  app.add_option("--dim", arguments.dims,
                 "NAME=N or INPUT[i]=N: a named dimension's size; once for each")
      ->allow_extra_args(false);
  app.add_option("--input", arguments.inputs,
                 "NAME=SPEC: a .npy or .pb file, random[:SEED[:SCALE]], zeros, ones or iota")
      ->allow_extra_args(false);
  app.add_option("--threads", arguments.threads, "default: INGOT_NUM_THREADS, else all cores")
      ->check(CLI::Range(1, 1024));
  app.add_option("--cache", arguments.cache,
                 "folder of compiled kernels; default: INGOT_CACHE_DIR, else the user's cache");
  app.add_option("--tuning", arguments.tuning,
                 "the tuning database, which fusion auto follows; none: without one; default: "
                 "INGOT_TUNING, else tuning.txt in the folder of compiled kernels");
  app.add_flag("--allow-memory", arguments.allow_memory,
               "fusion auto may take more memory at once than separate kernels do");
  if (subcommand.command != lab) {
    app.add_flag("--json", arguments.json, "one JSON object on stdout and nothing else");
  }
  app.add_flag("-v", arguments.verbose, "say on stderr what is compiled");
  if ((subcommand.takes & edits) != 0) {
    app.add_option("--plan", arguments.plan, "an edited plan to use (`ingot plan` prints one)");
    app.add_option("--kernel", arguments.kernels,
                   "NAME=FILE: an edited kernel to use: a source of `ingot emit`, or the "
                   "loops that `ingot lower` prints")
        ->allow_extra_args(false);
  }
  if ((subcommand.takes & folder) != 0) {
    app.add_option("--out", arguments.out,
                   subcommand.command == emit
                       ? "folder for the whole sources; without it the kernels alone are shown"
                       : "folder to write the outputs to, as NAME.npy");
  }
  if ((subcommand.takes & bounds) != 0) {
    app.add_option("--rtol", arguments.rtol, "relative bound instead of the contract's");
    app.add_option("--atol", arguments.atol, "absolute bound instead of the contract's");
  }
}

void add_special_options(CLI::App& app, const std::string& name, Arguments& arguments) {
  if (name == "lab") {
    app.add_option("--out", arguments.out, "a file to write the page to, instead of serving it");
    app.add_option("--port", arguments.port, "to serve it at; default: a free one")
        ->check(CLI::Range(1, 65535));
  }
  if (name == "explain" || name == "lab") {
    app.add_flag("--measure", arguments.measure, "measure the times on random data");
  }
  if (name == "explain" || name == "bench" || name == "tune") {
    app.add_option("--html", arguments.html, "a file to write the report to, as one HTML page");
  }
  if (name == "explain") {
    app.add_option("--dot", arguments.dot, "a file to write the graph to, for Graphviz");
    app.add_option("--trace", arguments.trace,
                   "a file to write the kernels' times to, as trace events of Chrome");
  }
  if (name == "tune") {
    app.add_option("--register-caps", arguments.register_caps,
                   "registers a thread may have, 16 to 255, as 32,48,64: registers, spills and "
                   "occupancy of each kernel, and times where the device is here")
        ->delimiter(',');
    app.add_option("--budget", arguments.budget, "seconds, about; more than 0, default 30");
  }
  if (name == "bench") {
    app.add_option("--repeats", arguments.repeats, "default: about two seconds' worth, at least 7")
        ->check(CLI::Range(1, std::numeric_limits<int>::max()));
    app.add_flag("--counters", arguments.counters,
                 "read the hardware's counters, too: a GPU's with ncu of PATH, a CPU's with the "
                 "kernel's perf events");
    app.add_option("--sweep", arguments.sweeps,
                   "NAME=N,N,...: a named dimension at several sizes, a row each; several options: "
                   "each with each")
        ->allow_extra_args(false);
    app.add_option("--compare", arguments.compare,
                   "a file of an earlier --json: exit code 1 where a time is longer by more than "
                   "the noise");
  }
}

void add_table_commands(CLI::App& app, Arguments& arguments, Command& command) {
  CLI::App* const table = app.add_subcommand("ops", "the op table");
  table->set_version_flag("--version", version_text());
  table->add_flag("--json", arguments.json, "as JSON");
  table->add_flag("--markdown", arguments.markdown, "as docs/ops.md");
  table->add_flag("--header", arguments.header, "as include/ingot/ops.h");
  table->callback([&command] { command = ops; });

  CLI::App* const found =
      app.add_subcommand("devices", "devices found, measured ceilings, known device models");
  found->set_version_flag("--version", version_text());
  found->add_flag("--json", arguments.json, "as JSON");
  found->add_flag("--no-measure", arguments.no_measure, "do not measure the ceilings");
  found->callback([&command] { command = devices; });

  CLI::App* const kernels = app.add_subcommand("cache", "the kernel cache");
  kernels->set_version_flag("--version", version_text());
  kernels->require_subcommand(1);
  const std::pair<const char*, const char*> actions[] = {
      {"stats", "number and size of its entries"},
      {"verify", "reads every entry, removes damaged ones; exit code 1 if there were any"},
      {"clear", "removes every entry"}};
  for (const auto& [name, what] : actions) {
    CLI::App* const action = kernels->add_subcommand(name, what);
    action->add_option("--cache", arguments.cache, "its folder");
    action->add_flag("--json", arguments.json, "as JSON");
    action->callback([&command, &arguments, word = std::string(name)] {
      command = cache;
      arguments.cache_action = word;
    });
  }
}

// A word of the command line that a shell reads back as it is.
std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-./=:,+") == std::string::npos;
  if (plain) {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

// A file of the call as comments, since a reproducer has to be whole without it.
std::string quoted_file(const std::string& option, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text = fmt::format("# {} {}{}\n", option, path, file ? ":" : " could not be read");
  for (std::string line; std::getline(file, line);) {
    text += "# | " + line + "\n";
  }
  return text;
}

// A file that holds all that is needed to see an internal error again; a program as text where it
// can be read.
void write_reproducer(const Arguments& arguments, const std::string& message) {
  std::string text = fmt::format("# {}\n# {}\n", version_text(), arguments.command_line);
  for (size_t at = 0; at < message.size();) {
    const size_t end = std::min(message.find('\n', at), message.size());
    text += "# " + message.substr(at, end - at) + "\n";
    at = end + 1;
  }
  if (!arguments.plan.empty()) {
    text += quoted_file("--plan", arguments.plan);
  }
  for (const std::string& kernel : arguments.kernels) {
    text +=
        quoted_file("--kernel", kernel.substr(std::min(kernel.find('='), kernel.size() - 1) + 1));
  }
  try {
    text += Program::load(arguments.file).print();
  } catch (const std::exception&) {
    text += "# the program could not be read\n";
  }
  const std::string name = fmt::format("ingot-reproducer-{}.ingot", getpid());
  for (const std::string& path : {name, "/tmp/" + name}) {
    try {
      write_whole_file(path, text);
      fmt::print(stderr, "note: a fault of ingot, not of yours: {} reproduces it\n", path);
      return;
    } catch (const Error&) {
      continue;  // the next folder
    }
  }
}

void report(const std::string& message) {
  fmt::print(stderr, "{}{}", message, message.ends_with('\n') ? "" : "\n");
}

// The code of what has been written to stdout, if that could be written.
int written(int code) {
  std::cout.flush();
  if (std::cout && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    return code;
  }
  report("error: cannot write to stdout");
  return wrong_input;
}

int run_command(Command command, const Arguments& arguments) {
  try {
    return written(command(arguments));
  } catch (const Error& error) {
    report(error.rendered());
    if (error.kind() == ErrorKind::internal) {
      write_reproducer(arguments, error.rendered());
      return internal_error;
    }
    return error.kind() == ErrorKind::unsupported ? unsupported : wrong_input;
  } catch (const std::bad_alloc&) {
    const std::string place = arguments.file.empty() ? "" : arguments.file + ": ";
    report(fmt::format("{}error: out of memory", place));
    return wrong_input;
  } catch (const std::system_error&) {
    if (std::ferror(stdout) == 0) {
      throw;
    }
    return written(wrong_input);  // says that it could not be
  } catch (const std::exception& error) {
    report(fmt::format("error: internal: {}", error.what()));
    write_reproducer(arguments, error.what());
    return internal_error;
  }
}

int main_of(int argc, char** argv) {
  Arguments arguments;
  for (int i = 0; i < argc; ++i) {
    arguments.command_line += (i == 0 ? "" : " ") + shell_word(argv[i]);
  }
  Command command = nullptr;
  CLI::App app("Fuses the ops of a tensor program into kernels, and shows the evidence.", "ingot");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "the help of every subcommand");
  app.failure_message([](const CLI::App* called, const CLI::Error& error) {
    std::string what = error.what();
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {  // it lists them backwards
      what = fmt::format("not expected: {}", fmt::join(called->remaining(true), " "));
    }
    if (what == "A subcommand is required") {
      const bool cache_called = called->got_subcommand("cache");
      what = cache_called ? "cache takes one of stats, verify and clear" : "a command is missing";
    }
    const std::vector<CLI::App*> chosen = called->get_subcommands();
    return fmt::format("error: {}\nnote: `ingot {}--help` says what there is\n", what,
                       chosen.empty() ? "" : chosen[0]->get_name() + " ");
  });
  for (const Subcommand& subcommand : program_commands) {
    CLI::App* const sub = app.add_subcommand(subcommand.name, subcommand.what);
    sub->set_version_flag("--version", version_text());
    add_program_options(*sub, subcommand, arguments);
    add_special_options(*sub, subcommand.name, arguments);
    sub->callback([&command, &arguments, &subcommand] {
      command = subcommand.command;
      arguments.command = subcommand.name;
      if (arguments.device.empty()) {
        arguments.device = default_device();
      }
    });
  }
  add_table_commands(app, arguments, command);
  if (argc > 1 && argv[1][0] != '-' &&
      app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == argv[1]; })
          .empty()) {
    report(fmt::format("error: there is no command '{}'; `ingot --help` lists them", argv[1]));
    return wrong_input;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 has codes of its own; here a wrong call is 2.
    return app.exit(error) == 0 ? written(done) : wrong_input;
  }
  return run_command(command, arguments);
}

}  // namespace
}  // namespace ingot::cli

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of a file's size is then a write that fails
  return ingot::cli::main_of(argc, argv);
}
