#include "model/sgd_iter/input_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "model/machine.hpp"
#include "model/sgd_iter/costs.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/storage_time.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class Q>
bool is_amount(Q value) {
  return std::isfinite(value.si()) && value >= Q();
}

template <class Q>
bool is_positive(Q value) {
  return is_amount(value) && value > Q();
}

/// What the storage delivers to a node while all of them read.
std::optional<BytesPerSecond> read_of_node(const Machine& machine, const Run& run) {
  const Placement placement{run.ranks, run.ranks_per_node};
  const Seconds batches = storage_time(machine, placement, run.batch);
  if (batches <= Seconds()) return std::nullopt;
  return placement.ranks_on_node() * run.batch * picture_size / batches;
}

}  // namespace

InputRate input_rate(const SampleCost& sample, const InputNode& node) {
  EXPECT(is_positive(sample.stored) && is_amount(sample.decode) && node.threads >= 1);
  EXPECT(!node.read || is_positive(*node.read));
  const double read = node.read ? *node.read / sample.stored * Seconds(1) : infinity;
  const double decode = node.threads * (Seconds(1) / sample.decode);
  return read <= decode ? InputRate{read, InputStage::read} : InputRate{decode, InputStage::decode};
}

BytesPerSecond shared_read(BytesPerSecond client, BytesPerSecond server, double nodes) {
  EXPECT(is_positive(client) && is_positive(server) && std::isfinite(nodes) && nodes >= 1);
  return std::min(client, server / nodes);
}

double accelerator_utilisation(Seconds compute, Seconds stall) {
  EXPECT(is_positive(compute) && is_amount(stall));
  return compute / (compute + stall);
}

BytesPerSecond required_read(double samples_per_s, Bytes stored) {
  EXPECT(std::isfinite(samples_per_s) && samples_per_s > 0 && is_positive(stored));
  return stored * samples_per_s / Seconds(1);
}

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
