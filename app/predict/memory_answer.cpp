#include "app/predict/memory_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "app/options/training_options.hpp"
#include "core/network/relu_fusion.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "report/prediction/memory_table.hpp"

namespace dlscale::app {
namespace {

/// The largest batches that fit: by the sum, and by the least that is known of a need.
struct LargestBatches {
  int about = 0;
  int least = 0;
};

LargestBatches largest_batches(const Network& network, const model::Machine& machine,
                               const Run& run, const model::MemoryTraits& traits) {
  const Bytes memory = model::memory_of_rank(machine.cluster, run);
  const auto largest = [&](model::MemoryBound bound) {
    return model::largest_batch(network, machine.cluster.device.kind, run, memory, bound, traits);
  };
  return {largest(model::MemoryBound::about), largest(model::MemoryBound::least)};
}

std::string batches_note(const LargestBatches& largest) {
  if (largest.least == 0) {
    return "no batch fits: ranks have to share the network by a plan (--parallel)";
  }
  if (largest.about == 0) {
    return fmt::format("a batch of {} fits at most, and only if cheap outputs are computed again",
                       largest.least);
  }
  return fmt::format(
      "the largest batch that fits is about {}; with more than {}, products would have to run "
      "twice",
      largest.about, largest.least);
}

}  // namespace

std::vector<MemoryQuestion> memory_questions(const Cluster& cluster, const SweptAxes& axes) {
  const bool shared = cluster.device.kind == DeviceKind::cpu;
  const auto on_node = [&](int ranks) { return std::min(ranks, cluster.devices_per_node); };
  std::vector<MemoryQuestion> questions;
  const auto add = [&](int ranks, int batch) {
    const bool known = std::ranges::any_of(questions, [&](const MemoryQuestion& one) {
      return one.batch == batch && (!shared || on_node(one.ranks) == on_node(ranks));
    });
    if (!known) questions.push_back({ranks, batch});
  };
  for (const int ranks : axes.ranks) {
    if (axes.global_batch) add(ranks, share_of(*axes.global_batch, ranks));
    for (const int batch : axes.batches) add(ranks, batch);
  }
  return questions;
}

report::Document memory_answer(const Network& network, const model::Machine& machine,
                               const Run& run, const std::vector<MemoryQuestion>& questions,
                               const std::vector<std::string>& assumed) {
  const Network as_it_runs = as_run(network, run);
  const model::MemoryTraits traits = model::memory_traits(network, run.dtype, machine.software);
  std::vector<report::MemoryRow> rows;
  for (const MemoryQuestion& question : questions) {
    Run one = run;
    one.ranks = question.ranks;
    one.batch = question.batch;
    rows.push_back({one, model::memory_need(as_it_runs, machine.cluster.device.kind, one, traits),
                    model::memory_of_rank(machine.cluster, one)});
  }
  std::vector<std::string> notes{
      "the least: cheap outputs are computed again, gradients stay in the precision of products; "
      "the most: frameworks keep copies of outputs, and libraries take their share"};
  const auto alike = [&](const auto& row) { return row.memory == rows.front().memory; };
  std::optional<int> largest_batch;
  if (rows.front().memory > Bytes() && std::ranges::all_of(rows, alike)) {
    const LargestBatches largest = largest_batches(as_it_runs, machine, rows.front().run, traits);
    notes.push_back(batches_note(largest));
    largest_batch = largest.about;
  }
  notes.insert(notes.end(), assumed.begin(), assumed.end());
  return report::memory_document(rows, notes, largest_batch);
}

}  // namespace dlscale::app
