#include "model/what_if/input_bound.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/text/quantity_text.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/costs/input_pipeline.hpp"
#include "model/sgd_iter/costs/storage_time.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

/// Rate of storage to a node while all nodes read.
std::optional<BytesPerSecond> read_of_node(const Machine& machine, const Run& run) {
  const Placement placement{run.ranks, run.ranks_per_node};
  const Seconds batches = storage_time(machine, placement, run.batch);
  if (batches <= Seconds()) return std::nullopt;
  return placement.ranks_on_node() * run.batch * picture_size / batches;
}

}  // namespace

std::string input_sentence(const Machine& machine, const Prediction& prediction) {
  const Run& run = prediction.run;
  const IterationTime& time = prediction.time;
  const Seconds computing = time.total - time.io;
  if (prediction.bound != "input" || time.io <= Seconds() || computing <= Seconds()) return "";
  const int ranks = Placement{run.ranks, run.ranks_per_node}.ranks_on_node();
  const SampleCost sample{picture_size, time.load / run.batch};
  const int threads = ranks * run.loader_threads;
  const int cores = machine.cluster.host.cores;
  const InputNode node{read_of_node(machine, run), std::min(threads, cores)};
  const InputRate rate = input_rate(sample, node);
  const double wanted = ranks * run.batch / computing.si();
  if (rate.samples_per_s >= wanted) return "";
  const std::string taken = fmt::format(
      "of the {:.0f} images/s that the {} of a node would take; they compute {:.0f} % "
      "of the time",
      wanted, ranks == 1 ? "one device" : fmt::format("{} devices", ranks),
      100 * accelerator_utilisation(computing, time.io));
  if (rate.bound == InputStage::read) {
    return fmt::format("input: storage delivers {:.0f} {}. {} a node would be enough",
                       rate.samples_per_s, taken, to_text(required_read(wanted, sample.stored)));
  }
  const std::string_view who = threads > cores ? "cores" : "loader threads";
  const std::string decoded =
      fmt::format("input: {} {} decode {:.0f} {}", node.threads, who, rate.samples_per_s, taken);
  const bool computes_there = machine.cluster.device.kind == DeviceKind::cpu;
  if (computes_there && prediction.shares_cores) return decoded + ", on the same cores";
  return decoded + fmt::format(". {:.0f} for each rank would be enough",
                               std::ceil(wanted * sample.decode.si() / ranks));
}

}  // namespace dlscale::model
