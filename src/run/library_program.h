// A program as a person would write it with a library's kernels alone: what `bench` holds fused
// kernels against. Nothing else runs it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace ingot {

// A primitive of oneDNN for each op of the program as the user wrote it, with what the library
// itself joins to one: a bias and elementwise functions behind a product, functions behind an
// elementwise op. Numerics are the library's: results differ in bits from ingot's.
class LibraryProgram {
 public:
  // On tensors of these shapes. Null, with the reason in `why`, where some op has no primitive with
  // the same meaning.
  static std::unique_ptr<LibraryProgram> make(const Graph& source,
                                              const std::vector<std::vector<int64_t>>& input_shapes,
                                              int threads, std::string* why);
  ~LibraryProgram();
  LibraryProgram(const LibraryProgram&) = delete;
  LibraryProgram& operator=(const LibraryProgram&) = delete;

  // Row-major tensors of the program's dtypes and shapes; intermediates are the program's own.
  void run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
  std::vector<Tensor> new_outputs() const;
  size_t primitives() const;
  int64_t bytes() const;     // what the primitives read and write, by the shapes
  std::string text() const;  // "matmul + bias + gelu, softmax"

 private:
  struct State;
  explicit LibraryProgram(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ingot
