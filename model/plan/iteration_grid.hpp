#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/plan/exchange.hpp"

namespace dlscale::model {

/// The configurations that a plan chooses from: every exchange with every batch on every number of
/// ranks.
struct PlanSpace {
  std::vector<int> ranks;    ///< ≥ 1, ascending
  std::vector<int> batches;  ///< images per rank, ≥ 1, ascending
  std::vector<Exchange> exchanges;
  /// Number of images of all ranks together. If it is set, each number of ranks has one batch.
  std::optional<std::int64_t> global_batch = {};
  [[nodiscard]] bool has(int ranks_of_it, int batch) const {
    return !global_batch || static_cast<std::int64_t>(ranks_of_it) * batch == *global_batch;
  }
  [[nodiscard]] std::size_t size() const {
    return ranks.size() * (global_batch ? 1 : batches.size()) * exchanges.size();
  }
};

/// The indices of one configuration in a PlanSpace.
struct PlanPlace {
  std::size_t exchange = 0;
  std::size_t batch = 0;
  std::size_t rank = 0;
  bool operator==(const PlanPlace&) const = default;
};

/// Limits of a grid: its configurations, and those of them that are simulated. A simulation takes
/// some thousand times as long as the batched form.
inline constexpr std::size_t most_planned = 10'000'000;
inline constexpr std::size_t most_simulated = 2'000;

/// Throws ConfigError for a space that is empty or has more than most_planned configurations.
void check(const PlanSpace& space);

/// t_iter of every configuration of a space.
struct IterationGrid {
  PlanSpace space;
  /// By exchange, batch and rank, the last fastest, in s. NaN where the memory does not hold the
  /// batch, or the ranks are fewer than the servers.
  std::vector<double> iteration;
  std::vector<bool> simulated;  ///< by the same index: by simulation, not by the batched form
  std::vector<double> alone;    ///< one rank, by batch, in s; NaN if it does not fit the memory
  /// One rank with the whole global batch, in s. NaN without a global batch, or where the memory
  /// does not hold it.
  double alone_with_all = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> left_out;  ///< batches that the memory does not hold, a sentence each
  /// Numbers of ranks below the number of servers, a sentence each.
  std::vector<std::string> too_few;
  std::size_t by_form = 0;  ///< number of places found by the batched form
  std::size_t by_simulation = 0;
  std::set<std::string> why_simulated;
  [[nodiscard]] std::size_t index(const PlanPlace& place) const {
    return (place.exchange * space.batches.size() + place.batch) * space.ranks.size() + place.rank;
  }
  [[nodiscard]] double at(const PlanPlace& place) const { return iteration[index(place)]; }
};

/// Computes the grid by the batched form (model/plan) where it holds, else by the task graph. Both
/// give values without intervals. `run` states everything except ranks, batch and exchange. Throws
/// ConfigError if the space is empty or too large, or if too much of it must be simulated. It also
/// throws as predict() does, except for memory.
IterationGrid iteration_grid(const Network& network, const Machine& machine, const Run& run,
                             const PlanSpace& space);

}  // namespace dlscale::model
