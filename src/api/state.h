// What Program and Compiled hold; shared by the files of this folder only.
#pragma once

#include <ingot/ingot.h>

#include <mutex>

#include "api/device.h"
#include "api/pipeline.h"
#include "graph/graph.h"

namespace ingot {

struct Program::State {
  std::optional<GraphBuilder> builder;  // while it is built by the API
  Graph graph;                          // when it was read

  const Graph& current() { return builder ? builder->graph() : graph; }
  Graph finished() const { return builder ? GraphBuilder(*builder).take() : graph; }
};

struct Compiled::State {
  Options options;
  Graph source;               // as the user wrote it
  PlanOptions planning;       // of Options::fusion; measured choices included
  ChosenDevice target;        // asked for last: other words of the caller's may be wrong as well
  const DeviceModel& device;  // its model
  Graph graph;                // after the passes
  std::shared_ptr<const Pipeline> main;

  State(Graph program, const Options& given);
  // The same program with another fusion mode; compiled when first asked for. An edited plan or
  // kernel is `main` only.
  std::shared_ptr<const Pipeline> with_fusion(FusionMode mode) const;
  const Pipeline& lowered() const;  // `main`, with loops and sources
  Plan separate_plan() const;       // with fusion off; nothing is compiled
  // Of another fusion mode. Automatic fusion follows the tuning database, if there is one.
  PlanOptions planning_for(FusionMode mode) const;
  PlanOptions untuned() const;  // automatic fusion by the model alone
  // Plans follow the model's row; what is predicted of them, what the device reached.
  DeviceModel model_with_rates() const;
  ReportJson tuning_json() const;  // the database, and how many groups it has; null without one
  // A program of other plan options; nothing of it is edited.
  std::shared_ptr<const Pipeline> built(const PlanOptions& options) const;
  bool edited() const { return !options.plan_file.empty() || !options.kernel_files.empty(); }
  const Runnable& executable() const;  // Error{input} where nothing runs
  // Edited kernels of variants that these sizes do not take, each with the one that runs instead.
  std::map<std::string, std::string> edited_not_run(const Bindings& sizes) const;
  // The same for these inputs. Error{input} if none is taken.
  std::map<std::string, std::string> edited_not_run(const std::vector<Tensor>& inputs) const;
  // Of each group on the device, µs; its kernels compiled for so many registers (0: any).
  std::vector<double> times_with_cap(int registers) const;
  Bindings report_sizes() const;  // of all named dimensions; 1 where not given

 private:
  PipelineOptions pipeline_options() const;
  PipelineOptions unedited() const;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Pipeline> lowered_;  // made when asked for with plan_only
  mutable std::map<FusionMode, std::shared_ptr<const Pipeline>> others_;
};

// Options::threads, else INGOT_NUM_THREADS, else all cores.
int thread_count(const Options& options);
// Adds what a dimension's value says. Error{input}: no such name, or another value before.
void learn_dimension(const Graph& graph, const std::string& name, int64_t value, Sizes& sizes);

}  // namespace ingot
