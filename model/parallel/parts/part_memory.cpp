#include "model/parallel/parts/part_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "core/base/error.hpp"
#include "model/parallel/pipeline/simulation.hpp"
#include "model/sgd_iter/kernels/layer_memory.hpp"

namespace dlscale::model {
namespace {

constexpr double plain_bytes = 4;  // of an element in f32

/// Bytes of one sample while it travels to the device.
double travelling_bytes(const Network& network, DeviceKind device, const Run& run) {
  if (device == DeviceKind::cpu) return 0;
  const double element = run.normalisation == Normalisation::device ? 1 : plain_bytes;
  return element * static_cast<double>(network.input().elements());
}

bool has_pixels(const ImageShape& shape) {
  return shape.height > 1 || shape.width > 1;
}

/// Adds the memory of another part of the same rank. Pieces in flight and the backward that runs
/// are of one part or the other, so the larger counts.
void add_part(const PartMemory& other, PartMemory& rank) {
  rank.states += other.states;
  rank.activations = std::max(rank.activations, other.activations);
  rank.kept = std::max(rank.kept, other.kept);
  rank.gradients = std::max(rank.gradients, other.gradients);
  rank.batch += other.batch;
}

}  // namespace

PartMemoryRules memory_rules(const parallel::ParallelPlan& plan, DeviceKind device) {
  return {device, parallel::kept_bytes(plan.bytes), parallel::moment_bytes(plan), plan.recompute,
          plan.recompute_layers};
}

LayerSums::LayerSums(const Network& network, const Run& run, PartMemoryRules rules)
    : rules_(rules),
      samples_(run.batch),
      element_(static_cast<double>(element_bytes(run.dtype))),
      batch_(run.batch * travelling_bytes(network, rules.device, run)),
      gradients_(gradient_bytes(network, element_, true)),
      crossing_(crossing_elements(network)) {
  const parallel::KeptBytes& bytes = rules.bytes;
  const bool casts_weights = element_ < plain_bytes && bytes.weights >= plain_bytes;
  state_bytes_ = bytes.total() + rules.moments + (casts_weights ? element_ : 0);
  const double loss_copy = element_ < plain_bytes ? plain_bytes : 0;
  parameters_.push_back(0);
  kept_.push_back(0);
  least_.push_back(0);
  const std::vector<double> least = least_kept_bytes(network, element_);
  const std::vector<LayerElements> elements = layer_elements(network);
  for (const Layer& layer : network.layers()) {
    const LayerElements& own = elements[layer.id.index()];
    parameters_.push_back(parameters_.back() + static_cast<double>(layer.parameter_count()));
    kept_.push_back(kept_.back() + element_ * own.kept + loss_copy * own.loss);
    least_.push_back(least_.back() + least[layer.id.index()]);
    makes_pixels_.push_back(has_pixels(layer.output));
    reads_pixels_.push_back(std::ranges::any_of(layer.input_shapes, has_pixels));
  }
  find_peaks();
}

void LayerSums::find_peaks() {
  peaks_ = {gradients_};
  for (std::size_t half = 1; 2 * half <= gradients_.size(); half *= 2) {
    const std::vector<double>& halves = peaks_.back();
    std::vector<double> peaks(gradients_.size() - 2 * half + 1);
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      peaks[i] = std::max(halves[i], halves[i + half]);
    }
    peaks_.push_back(std::move(peaks));
  }
}

double LayerSums::most_gradients(std::size_t first, std::size_t end) const {
  const auto level = static_cast<std::size_t>(std::bit_width(end - first)) - 1;
  const std::size_t length = std::size_t{1} << level;
  return std::max(peaks_[level][first], peaks_[level][end - length]);
}

LayerSums LayerSums::with_pixels(double ratio) const {
  EXPECT(ratio > 0);
  LayerSums other = *this;
  other.batch_ = ratio * batch_;
  for (std::size_t layer = 0; layer < crossing_.size(); ++layer) {
    const double factor = makes_pixels_[layer] ? ratio : 1;
    other.kept_[layer + 1] = other.kept_[layer] + factor * (kept_[layer + 1] - kept_[layer]);
    other.least_[layer + 1] = other.least_[layer] + factor * (least_[layer + 1] - least_[layer]);
    other.gradients_[layer] = (reads_pixels_[layer] ? ratio : 1) * gradients_[layer];
    other.crossing_[layer] = factor * crossing_[layer];
  }
  other.find_peaks();
  return other;
}

LayerSums LayerSums::with_shares(const std::vector<double>& shares) const {
  EXPECT(shares.size() == gradients_.size());
  LayerSums other = *this;
  for (std::size_t layer = 0; layer < shares.size(); ++layer) {
    other.kept_[layer + 1] = other.kept_[layer] + shares[layer] * (kept_[layer + 1] - kept_[layer]);
    other.least_[layer + 1] =
        other.least_[layer] + shares[layer] * (least_[layer + 1] - least_[layer]);
    other.gradients_[layer] = shares[layer] * gradients_[layer];
  }
  other.find_peaks();
  return other;
}

Bytes LayerSums::states(std::size_t layer) const {
  return Bytes(state_bytes_ * (parameters_[layer + 1] - parameters_[layer]));
}

Bytes LayerSums::activations(std::size_t layer) const {
  return Bytes(samples_ * (kept_[layer + 1] - kept_[layer]));
}

Bytes LayerSums::crossing(std::size_t layer) const {
  return Bytes(samples_ * element_ * crossing_[layer]);
}

/// Kept of `live` micro-batches by layers [first, end), with what the part receives.
Bytes LayerSums::kept_live(const std::vector<double>& kept, std::size_t first, std::size_t end,
                           int live) const {
  using parallel::Recompute;
  const Bytes all(samples_ * (kept[end] - kept[first]));
  const Bytes input = first > 0 ? crossing(first - 1) : activations(0);
  switch (rules_.recompute) {
    case Recompute::none:
    case Recompute::selective:
      return live * (first > 0 ? all + input : all);  // the first part's own layers have it
    case Recompute::full:
      return live * input + all;
    case Recompute::block: {
      const std::size_t again =
          std::min(first + static_cast<std::size_t>(rules_.recompute_layers), end);
      const Bytes dropped(samples_ * (kept[again] - kept[first]));
      const Bytes between = again < end ? crossing(again - 1) : Bytes();
      return live * (all - dropped + input + between) + dropped;
    }
  }
  fail_expectation("a way to recompute");
}

PartMemory LayerSums::part(std::size_t first, std::size_t end, int live) const {
  EXPECT(first < end && end < parameters_.size() && live >= 1);
  PartMemory memory;
  memory.states = Bytes(state_bytes_ * (parameters_[end] - parameters_[first]));
  memory.activations = kept_live(kept_, first, end, live);
  memory.kept = std::min(memory.activations, kept_live(least_, first, end, live));
  memory.gradients = Bytes(samples_ * most_gradients(first, end));
  if (first == 0) memory.batch = batch_;
  return memory;
}

PartMemory LayerSums::least_part(std::size_t first, std::size_t end, int live) const {
  EXPECT(first < end && end < parameters_.size() && live >= 1);
  using parallel::Recompute;
  const bool keeps_all =
      rules_.recompute == Recompute::none || rules_.recompute == Recompute::selective;
  const double pieces = samples_ * (keeps_all ? live : 1);
  PartMemory memory;
  memory.states = Bytes(state_bytes_ * (parameters_[end] - parameters_[first]));
  memory.activations = Bytes(pieces * (kept_[end] - kept_[first]));
  memory.kept = std::min(memory.activations, Bytes(pieces * (least_[end] - least_[first])));
  return memory;
}

std::vector<int> usual_live(const parallel::PipelineSchedule& schedule,
                            const parallel::PipelineShape& shape) {
  const std::vector<Seconds> equal(static_cast<std::size_t>(shape.parts()), Seconds(1));
  return simulate(schedule.schedule(shape), {.forward = equal, .backward = equal}).live;
}

std::vector<PartMemory> rank_memories(const LayerSums& sums, const NetworkParts& parts, int copies,
                                      const std::vector<int>& live) {
  const std::size_t stages = live.size();
  EXPECT(stages >= 1 && parts.count() % stages == 0);
  std::vector<PartMemory> ranks(stages);
  std::size_t first = 0;
  for (std::size_t part = 0; part < parts.count(); ++part) {
    const std::size_t end = parts.last_layer(part) + 1;
    const std::size_t rank = part % stages;
    add_part(sums.part(first, end, std::max(live[rank], 1)), ranks[rank]);
    if (copies > 1) {
      const std::size_t opposite = stages - 1 - rank;
      add_part(sums.part(first, end, std::max(live[opposite], 1)), ranks[opposite]);
    }
    first = end;
  }
  return ranks;
}

}  // namespace dlscale::model
