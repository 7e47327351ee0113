#include "app/predict/memory_answer.hpp"

#include <fmt/format.h>

#include <string>

#include "core/network/relu_fusion.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "report/prediction/memory_table.hpp"

namespace dlscale::app {
namespace {

std::string largest_batches(const Network& network, const model::Machine& machine, const Run& run,
                            const model::MemoryTraits& traits) {
  const Bytes memory = model::memory_of_rank(machine.cluster, run);
  const auto largest = [&](model::MemoryBound bound) {
    return model::largest_batch(network, machine.cluster.device.kind, run, memory, bound, traits);
  };
  return fmt::format(
      "the largest batch that fits is about {}; with more than {}, products would have to run "
      "twice",
      largest(model::MemoryBound::about), largest(model::MemoryBound::least));
}

}  // namespace

report::Document memory_answer(const Network& network, const model::Machine& machine,
                               const Run& run, const std::vector<int>& batches,
                               const std::vector<std::string>& assumed) {
  const Network as_it_runs = as_run(network, run);
  const model::MemoryTraits traits = model::memory_traits(network, run.dtype, machine.software);
  std::vector<report::MemoryRow> rows;
  for (const int batch : batches) {
    Run one = run;
    one.batch = batch;
    rows.push_back({one, model::memory_need(as_it_runs, machine.cluster.device.kind, one, traits),
                    model::memory_of_rank(machine.cluster, one)});
  }
  std::vector<std::string> notes{
      "the least: cheap outputs are computed again, gradients stay in the precision of products; "
      "the most: frameworks keep copies of outputs, and libraries take their share"};
  if (rows.front().memory > Bytes())
    notes.push_back(largest_batches(as_it_runs, machine, run, traits));
  notes.insert(notes.end(), assumed.begin(), assumed.end());
  return report::memory_document(rows, notes);
}

}  // namespace dlscale::app
