// A program with its options, sizes and inputs, as the command line asks for them.
#pragma once

#include <ingot/ingot.h>

#include "arguments.h"

namespace ingot::cli {

struct InputFile {
  std::string path;
  Tensor tensor;  // in the input's dtype
};

struct Session {
  Program program;
  Options options;                           // with the sizes that were given
  std::map<std::string, std::string> specs;  // how to make an input that no file gives
  std::map<std::string, InputFile> from_files;
};

Session open_session(const Arguments& arguments);
// The session's sizes and those that `dims` say, NAME=N or INPUT[i]=N each. Error{input} where they
// contradict each other.
Sizes sizes_with(const Session& session, const std::vector<std::string>& dims);
// Sizes of all named dimensions; 1 with a note on stderr where nothing gives one.
Sizes complete_sizes(const Session& session);
// In signature order.
std::vector<Tensor> make_inputs(const Session& session, const Sizes& sizes);
// The inputs' shapes against the program's; an error names the files.
void require_shapes(const Session& session, const Compiled& compiled,
                    const std::vector<Tensor>& inputs);
// Both: inputs that fit.
std::vector<Tensor> inputs_for(const Session& session, const Compiled& compiled);
// Compiles; with -v says on stderr what was compiled. `plan_only`: see Options.
Compiled compile(const Session& session, const Arguments& arguments);
Compiled plan_only(const Session& session);

void note(const std::string& message);  // "note: …" on stderr
void note_edited_not_run(const std::map<std::string, std::string>& idle);

std::string read_whole_file(const std::string& path);  // Error{input} with path and reason
// Writes to a temporary file beside `path` and renames it. Error{input} with path and reason.
void write_whole_file(const std::string& path, const std::string& text);
void make_folder(const std::string& path);
// Characters other than letters, digits, '_', '-' and '.' become '_'.
std::string file_name_of(const std::string& name);

// A line on stderr that is drawn over, where stderr is a terminal; removed when it is destroyed.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  Progress callback();

 private:
  bool visible_;
};

}  // namespace ingot::cli
