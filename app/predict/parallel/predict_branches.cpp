#include "app/predict/parallel/predict_branches.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "app/cli/rank0_error.hpp"
#include "core/base/error.hpp"
#include "core/cluster/device_memory.hpp"
#include "core/network/network.hpp"
#include "core/parallel/plan_text.hpp"
#include "core/run/run.hpp"
#include "core/text/numbers.hpp"
#include "model/machine/machine.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/branches/branch_iteration.hpp"
#include "report/parallel/branch_table.hpp"

namespace dlscale::app {
namespace {

using parallel::ParallelPlan;

/// Refuses a plan that states more than data and branches.
void refuse_other_keys(const ParallelPlan& plan) {
  ParallelPlan known;
  known.data = plan.data;
  known.branches = plan.branches;
  if (plan == known) return;
  throw ConfigError(
      fmt::format("The plan {} states more than data and branches, and sub-graphs side by side are "
                  "timed beside "
                  "data parallelism alone. Leave the other keys out.",
                  parallel::to_text(plan)));
}

[[noreturn]] void refuse_beside_branches(std::string_view option) {
  throw ConfigError(fmt::format(
      "{} does not go with branches, whose one table rests on data sheets alone. Leave it out.",
      option));
}

void refuse_other_options(const ParallelInputs& inputs) {
  const std::array<std::pair<std::string_view, bool>, 8> others{
      {{"--framework", !inputs.framework.empty()},
       {"--device", !inputs.device.empty()},
       {"--measured", inputs.measured->is_given()},
       {"--memory", inputs.memory},
       {"--notes", inputs.notes},
       {"--explain", inputs.explain},
       {"--trace", !inputs.trace.empty()},
       {"--tokens", !inputs.tokens.empty()}}};
  for (const auto& [option, is_given] : others) {
    if (is_given) refuse_beside_branches(option);
  }
  const std::string& few_bits = inputs.training->few_bits;
  if (!few_bits.empty()) {
    throw ConfigError(fmt::format(
        "--dtype {} has no times of kernels by data sheets, on which branches rest. Name bf16, "
        "f16, tf32 or f32.",
        few_bits));
  }
}

/// Answers plans on one machine.
class Branches {
 public:
  Branches(const Network& network, const model::Machine& machine, DType dtype,
           report::BranchAnswer& answer)
      : network_(&network), machine_(&machine), answer_(&answer) {
    run_.network = network.name();
    run_.cluster = machine.cluster.name;
    run_.dtype = dtype;
    run_.ranks_per_node = machine.cluster.devices_per_node;
    run_.schedule = Schedule::bucketed;
    run_.input_copy = InputCopy::ahead;
  }

  /// Adds the row of a plan, and before it that of data parallelism on as many ranks.
  void add(const ParallelPlan& plan, int ranks) {
    parallel::check(plan, ranks, {.global_batch = answer_->global_batch});
    ParallelPlan data;
    data.data = ranks;
    const model::BranchIteration alone = iteration(data, ranks);
    const model::BranchIteration one = iteration(plan, ranks);
    if (compared_.insert(ranks).second) add_row(data, ranks, alone, alone);
    if (plan.branches > 1) add_row(plan, ranks, one, alone);
    if (one.memory.bytes > answer_->device_memory.si()) all_fit_ = false;
  }

  /// Whether all plans that were added fit their GPUs.
  [[nodiscard]] bool all_fit() const { return all_fit_; }

 private:
  [[nodiscard]] model::BranchIteration iteration(const ParallelPlan& plan, int ranks) const {
    Run run = run_;
    run.ranks = ranks;
    run.batch = share_of(answer_->global_batch, ranks);
    return model::branch_iteration(*network_, *machine_, run, plan.branches);
  }

  void add_row(const ParallelPlan& plan, int ranks, const model::BranchIteration& one,
               const model::BranchIteration& alone) {
    answer_->rows.push_back(
        {parallel::to_text(plan), ranks, plan.branches, one, alone.total / one.total});
  }

  const Network* network_;
  const model::Machine* machine_;
  report::BranchAnswer* answer_;
  Run run_;
  std::set<int> compared_ = {};  ///< ranks that have a row of data parallelism
  bool all_fit_ = true;
};

/// Adds the rows of all plans, by number of ranks, and returns whether all can run. One that cannot
/// is left out with a note, unless it is the only one.
bool add_rows(Branches& branches, const std::vector<AskedPlan>& plans,
              const std::vector<std::string>& asked, report::BranchAnswer& answer) {
  std::vector<std::pair<int, const AskedPlan*>> places;
  for (const AskedPlan& plan : plans) {
    for (const int ranks : ranks_of(plan, asked)) places.emplace_back(ranks, &plan);
  }
  std::ranges::stable_sort(places, {}, &std::pair<int, const AskedPlan*>::first);
  std::vector<std::string> left_out;
  for (const auto& [ranks, plan] : places) {
    try {
      branches.add(plan->on(ranks), ranks);
    } catch (const ConfigError& error) {
      if (places.size() == 1) throw;
      left_out.push_back(fmt::format("left out: {} on {}: {}", parallel::to_text(plan->plan),
                                     counted(ranks, "rank"), sentence_of(error)));
    }
  }
  if (answer.rows.empty()) {
    throw ConfigError(fmt::format("No plan can run. The first {}", left_out.front()));
  }
  answer.notes.insert(answer.notes.end(), left_out.begin(), left_out.end());
  return left_out.empty();
}

/// Decoders are in bf16 where nothing is said, as by all plans, and other networks in f32.
DType dtype_of(const ParallelInputs& inputs, const Network& network) {
  const bool is_usual = !inputs.is_dtype_stated && model::memory::is_decoder(network);
  return is_usual ? DType::bf16 : inputs.training->run.dtype;
}

}  // namespace

BranchesAnswer predict_branches(const ParallelInputs& inputs, const std::vector<AskedPlan>& plans,
                                bool fits) {
  for (const AskedPlan& plan : plans) refuse_other_keys(plan.plan);
  refuse_other_options(inputs);
  const TrainingOptions& training = *inputs.training;
  const Network network = training.find_network();
  const model::Machine machine = training.find_machine();
  report::BranchAnswer answer;
  answer.network = network.name();
  answer.cluster = machine.cluster.name;
  const DType dtype = dtype_of(inputs, network);
  answer.dtype = dtype_name(dtype);
  answer.samples = network.samples();
  answer.global_batch = inputs.global_batch.value_or(most_gpus(plans, inputs.ranks));
  answer.device_memory = usable_memory(machine.cluster.device);
  std::vector<std::string> taken;
  if (!inputs.global_batch) taken.push_back(fmt::format("--global-batch {}", answer.global_batch));
  if (!inputs.is_dtype_stated) taken.push_back(fmt::format("--dtype {}", answer.dtype));
  if (!taken.empty()) {
    answer.notes.push_back(fmt::format("Taken, since not said: {}.", fmt::join(taken, ", ")));
  }
  Branches branches(network, machine, dtype, answer);
  const bool all_run = add_rows(branches, plans, inputs.ranks, answer);
  return {fits ? report::branch_fit_document(answer) : report::branch_document(answer),
          all_run && branches.all_fit()};
}

}  // namespace dlscale::app
