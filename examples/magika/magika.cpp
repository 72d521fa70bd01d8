// Tells the type of files with the Magika model, then shows what fusion did to the model.
//
//   magika --model model.onnx --labels labels.txt PATH...
//
// The public API only: load, compile once, run on a batch of any size, explain, bench.

#include <ingot/ingot.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr size_t part_size = 1024;    // bytes of a file's head and tail that the model sees
constexpr size_t window_size = 4096;  // where they are looked for, blanks stripped
constexpr size_t smallest_file = 16;  // below this the model has nothing to say
constexpr int32_t padding = 256;

struct Sample {
  std::string path;
  std::string problem;            // why the model is not asked
  std::vector<int32_t> features;  // head, then tail
};

bool is_blank(unsigned char byte) {
  return std::strchr(" \t\n\r\v\f", byte) != nullptr && byte != 0;
}

// Head from the left, padded on its right; tail from the right, padded on its left.
std::vector<int32_t> features_of(const std::string& head_window, const std::string& tail_window) {
  std::vector<int32_t> features(2 * part_size, padding);
  size_t begin = 0;
  while (begin < head_window.size() && is_blank(static_cast<unsigned char>(head_window[begin]))) {
    ++begin;
  }
  const size_t head = std::min(part_size, head_window.size() - begin);
  for (size_t i = 0; i < head; ++i) {
    features[i] = static_cast<unsigned char>(head_window[begin + i]);
  }
  size_t end = tail_window.size();
  while (end > 0 && is_blank(static_cast<unsigned char>(tail_window[end - 1]))) {
    --end;
  }
  const size_t tail = std::min(part_size, end);
  for (size_t i = 0; i < tail; ++i) {
    features[2 * part_size - tail + i] = static_cast<unsigned char>(tail_window[end - tail + i]);
  }
  return features;
}

Sample read_sample(const std::string& path) {
  Sample sample{path, "", {}};
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) {
    sample.problem = "cannot be read";
    return sample;
  }
  if (static_cast<size_t>(size) < smallest_file) {
    sample.problem = "too small";
    return sample;
  }
  const size_t length = std::min(window_size, static_cast<size_t>(size));
  std::string head(length, '\0'), tail(length, '\0');
  file.seekg(0);
  file.read(head.data(), static_cast<std::streamsize>(length));
  file.seekg(size - static_cast<std::streamoff>(length));
  file.read(tail.data(), static_cast<std::streamsize>(length));
  if (!file) {
    sample.problem = "cannot be read";
    return sample;
  }
  sample.features = features_of(head, tail);
  return sample;
}

std::vector<std::string> read_labels(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    labels.push_back(line);
  }
  if (labels.empty()) {
    throw ingot::Error(ingot::ErrorKind::input, path + ": no labels");
  }
  return labels;
}

ingot::Tensor make_batch(const std::vector<Sample>& samples) {
  const int64_t files = std::count_if(samples.begin(), samples.end(),
                                      [](const Sample& sample) { return sample.problem.empty(); });
  ingot::Tensor batch(ingot::DType::i32, {files, 2 * part_size});
  int32_t* to = batch.as<int32_t>();
  for (const Sample& sample : samples) {
    to = std::copy(sample.features.begin(), sample.features.end(), to);
  }
  return batch;
}

void print_table(const std::vector<Sample>& samples, const ingot::Tensor& scores,
                 const std::vector<std::string>& labels) {
  size_t width = 4;
  for (const Sample& sample : samples) {
    width = std::max(width, sample.path.size());
  }
  std::printf("%-*s  %-16s %s\n", static_cast<int>(width), "file", "type", "confidence");
  const int64_t count = static_cast<int64_t>(labels.size());
  int64_t row = 0;
  for (const Sample& sample : samples) {
    if (!sample.problem.empty()) {
      std::printf("%-*s  %s\n", static_cast<int>(width), sample.path.c_str(),
                  sample.problem.c_str());
      continue;
    }
    const float* const first = scores.as<float>() + row * count;
    const float* const best = std::max_element(first, first + count);
    std::printf("%-*s  %-16s %5.1f %%\n", static_cast<int>(width), sample.path.c_str(),
                labels[static_cast<size_t>(best - first)].c_str(), 100.0 * *best);
    ++row;
  }
}

void require_labels_fit(const ingot::Tensor& scores, const std::vector<std::string>& labels) {
  if (scores.shape().size() != 2 || scores.shape()[1] != static_cast<int64_t>(labels.size())) {
    throw ingot::Error(ingot::ErrorKind::input,
                       "the model's output does not have one column for each label");
  }
}

void show(const std::string& model, const std::string& labels_path,
          const std::vector<std::string>& paths) {
  const std::vector<std::string> labels = read_labels(labels_path);
  std::vector<Sample> samples;
  for (const std::string& path : paths) {
    samples.push_back(read_sample(path));
  }
  const ingot::Tensor batch = make_batch(samples);
  const ingot::Program program = ingot::Program::load(model);
  ingot::Options options;
  options.sizes = program.sizes_of({{program.inputs().at(0).name, batch.shape()}});
  const ingot::Compiled compiled = program.compile(options);
  const std::vector<ingot::Tensor> outputs = compiled.run({batch});
  require_labels_fit(outputs.at(0), labels);
  print_table(samples, outputs[0], labels);

  // The report without its last part, a line for each edge: `ingot explain` shows that, too.
  const std::string report = compiled.explain(true);
  std::printf("\nWhat fusion did to the model (times on random bytes)\n%s",
              report.substr(0, report.find("\ndecisions (")).c_str());
  std::printf("\nSeparate against fused on these files\n%s",
              ingot::Compiled::bench_text(compiled.bench_json({batch})).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  std::string model, labels;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if ((word == "--model" || word == "--labels") && i + 1 < argc) {
      (word == "--model" ? model : labels) = argv[++i];
    } else {
      paths.push_back(word);
    }
  }
  if (model.empty() || labels.empty() || paths.empty()) {
    std::fprintf(stderr, "usage: magika --model MODEL.onnx --labels FILE PATH...\n");
    return 2;
  }
  try {
    show(model, labels, paths);
    return 0;
  } catch (const ingot::Error& error) {
    std::fprintf(stderr, "%s\n", error.rendered().c_str());
    return error.kind() == ingot::ErrorKind::unsupported ? 3
           : error.kind() == ingot::ErrorKind::internal  ? 4
                                                         : 2;
  }
}
