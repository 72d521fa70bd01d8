// CUDA: a last phase of few iterations, such as the sum of partial sums, is the work of the block
// that arrives last, instead of a kernel of its own.
#include "base/text.h"
#include "emit/cpp_emitter.h"

namespace ingot {

using namespace loop;

// Whether a block of the phase before has a team for each iteration of the last.
bool Emitter::ends_in_last_block() const {
  const std::vector<Phase>& phases = kernel_.phases;
  if (!kernel_target_.cuda || phases.size() < 2 || !tiles_.empty()) return false;
  const Target before = phase_target(kernel_target_, phases[phases.size() - 2]);
  const Target last = phase_target(kernel_target_, phases.back());
  const std::optional<int64_t> iterations = phases.back().extent.constant();
  return iterations && *iterations > 0 && *iterations <= last.block / last.team &&
         before.block == last.block && before.blocks == 1 && before.least_block == 0;
}

// The last two phases as functions, and the kernel that calls them.
std::string Emitter::kernel_in_two_parts() {
  const size_t number = kernel_.phases.size() - 2;
  in_part_ = true;
  std::string text = phase_text(number);
  const std::string bounds = launch_bounds(kernel_.phases[number]);
  in_last_block_ = true;
  text += phase_text(number + 1);
  in_part_ = in_last_block_ = false;

  names_.open();
  std::vector<std::string> params, arguments;
  for (const Param& param : kernel_.params) {
    arguments.push_back(names_.unique(param.name));
    params.push_back(fmt::format("{}{}* {}", param.role == Role::input ? "const " : "",
                                 storage_type(param.dtype), arguments.back()));
  }
  for (const std::string& size : kernel_.sizes) {
    arguments.push_back(names_.unique(size));
    params.push_back("long " + arguments.back());
  }
  names_.close();
  arguments.emplace_back("report");
  params.emplace_back("KernelReport* report");
  params.emplace_back("unsigned* arrived");
  const std::string symbol = source_.phases.back().symbol;
  const std::string called = join(arguments, ", ");
  source_.phases.back().symbol = symbol + "_and_last";
  source_.phases.back().counts_blocks = true;
  names_.give(source_.phases.back().symbol);
  return text +
         fmt::format("extern \"C\" __global__ void {} {}(\n    {}) {{\n", bounds,
                     source_.phases.back().symbol, join(params, ",\n    ")) +
         fmt::format(
             "  after_previous_kernel();\n  {0}({2});\n  if (last_to_arrive(arrived)) "
             "{1}({2});\n}}\n",
             symbol, fmt::format("{}_p{}", kernel_.name, number + 1), called);
}

}  // namespace ingot
