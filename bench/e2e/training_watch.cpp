#include "bench/e2e/training_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "bench/comm/traffic/stragglers.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::bench {
namespace {

struct OwnPhase {
  const char* series;
  const char* name;
};
/// Phases that do not depend on other ranks.
constexpr std::array own_phases{OwnPhase{"t_io", "in waiting for pictures"},
                                OwnPhase{"t_h2d", "in copying the batch"},
                                OwnPhase{"t_f", "in forward"}, OwnPhase{"t_b", "in backward"},
                                OwnPhase{"t_u", "in the update"}};

RankSamples sum(const std::map<std::string, Series>& series) {
  RankSamples sums = series.at(own_phases.front().series).samples;
  for (const OwnPhase& phase : std::span(own_phases).subspan(1)) {
    const RankSamples& more = series.at(phase.series).samples;
    for (std::size_t rank = 0; rank < sums.size(); ++rank) {
      std::ranges::transform(sums[rank], more[rank], sums[rank].begin(), std::plus());
    }
  }
  return sums;
}

/// Excess of the rank's median time in a phase over all others'.
double lead(const RankSamples& samples, std::size_t rank) {
  double others = 0;
  for (std::size_t other = 0; other < samples.size(); ++other) {
    if (other != rank) others = std::max(others, median(samples[other]));
  }
  return median(samples[rank]) - others;
}

}  // namespace

TrainingWatch::TrainingWatch(std::optional<DeviceWitness> witness, std::chrono::milliseconds period)
    : witness_(std::move(witness)) {
  if (witness_ && witness_->monitor) watch_.emplace(*witness_->monitor, period);
}

void TrainingWatch::warmed_up() {
  if (watch_) watch_->start_anew();
}

void TrainingWatch::stop() {
  if (watch_) states_ = watch_->stop();
}

void TrainingWatch::add_to(Measurement& measurement, backend::Communicator& communicator) const {
  const auto iterations = measurement.series.find("t_iter");
  if (!witness_ || iterations == measurement.series.end()) return;  // likewise on all ranks
  const std::size_t runs = iterations->second.samples.front().size();
  add_witnessed(measurement, *witness_, states_, runs, communicator);
}

QuietIterations::QuietIterations(backend::Communicator& communicator, Seconds patience,
                                 std::function<Seconds()> witness)
    : communicator_(&communicator), patience_(patience), looks_(communicator, std::move(witness)) {}

void QuietIterations::look() {
  looks_.look();
  ends_.push_back(std::chrono::steady_clock::now());
}

std::vector<bool> QuietIterations::counted() const {
  std::vector<bool> counted;
  for (std::size_t look = 1; look < looks_.count(); ++look) {
    counted.push_back(looks_.is_quiet(look - 1) && looks_.is_quiet(look));
  }
  return counted;
}

bool QuietIterations::are_enough(std::size_t wanted) {
  const std::vector<bool> all = counted();
  std::chrono::duration<double> vain{0};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) vain += ends_[i + 1] - ends_[i];
  }
  const auto quiet = static_cast<std::size_t>(std::ranges::count(all, true));
  char enough = quiet >= wanted || Seconds(vain.count()) > patience_ ? 1 : 0;
  // Rank 0's clock decides.
  communicator_->broadcast(std::as_writable_bytes(std::span(&enough, 1)), 0);
  return enough != 0;
}

void QuietIterations::tell(Measurement& measurement, std::size_t wanted) const {
  measurement.series["witness"] = make_series("s", looks_.times());
  const std::vector<bool> all = counted();
  const auto quiet = static_cast<std::size_t>(std::ranges::count(all, true));
  if (quiet >= wanted) return;
  warn_of_speed(measurement,
                fmt::format("fixed work was as fast as at the machine's best around {} "
                            "of {} iterations only, {} were wanted",
                            quiet, all.size(), wanted));
}

std::vector<std::string> longest_rank_warnings(const std::map<std::string, Series>& series) {
  const bool timed = std::ranges::all_of(
      own_phases, [&](const OwnPhase& phase) { return series.contains(phase.series); });
  if (!timed) return {};
  const std::optional<Straggler> found =
      find_straggler(sum(series), slowest_rank(series.at("t_iter").samples));
  if (!found) return {};
  const auto most = std::ranges::max_element(own_phases, {}, [&](const OwnPhase& phase) {
    return lead(series.at(phase.series).samples, found->rank);
  });
  return {fmt::format(
      "rank {} computes longest in {:.0f} % of the iterations, by {:.0f} % of their time, most of "
      "it {}: the others wait for its gradients. See what else runs on its cores, and whether its "
      "processor or disk is slower.",
      found->rank, 100 * found->share, 100 * found->lead, most->name)};
}

}  // namespace dlscale::bench
