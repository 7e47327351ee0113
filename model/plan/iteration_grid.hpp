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

/// What a plan chooses from: every exchange with every batch on every number of ranks.
struct PlanSpace {
  std::vector<int> ranks;    ///< ≥ 1, ascending
  std::vector<int> batches;  ///< images per rank, ≥ 1, ascending
  std::vector<Exchange> exchanges;
  /// Only places whose ranks have so many images together; each number of ranks has one batch then.
  std::optional<std::int64_t> global_batch = {};
  [[nodiscard]] bool has(int ranks_of_it, int batch) const {
    return !global_batch || static_cast<std::int64_t>(ranks_of_it) * batch == *global_batch;
  }
  [[nodiscard]] std::size_t size() const {
    return ranks.size() * (global_batch ? 1 : batches.size()) * exchanges.size();
  }
};

/// One of them.
struct PlanPlace {
  std::size_t exchange = 0;
  std::size_t batch = 0;
  std::size_t rank = 0;
  bool operator==(const PlanPlace&) const = default;
};

/// How many configurations a grid may hold, and how many of them may have to be simulated, which
/// takes some thousand times as long as the batched form.
inline constexpr std::size_t most_planned = 10'000'000;
inline constexpr std::size_t most_simulated = 2'000;

/// t_iter of every place of a space.
struct IterationGrid {
  PlanSpace space;
  /// By exchange, batch and rank, the last fastest, s; NaN where the memory does not hold the
  /// batch, or there are fewer ranks than servers.
  std::vector<double> iteration;
  std::vector<bool> simulated;  ///< likewise: found by simulation, not by the batched form
  std::vector<double> alone;    ///< by batch: of one rank; NaN likewise
  /// Of one rank with the whole global batch; NaN where there is none, or the memory does not hold
  /// it.
  double alone_with_all = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> left_out;  ///< what did not fit the memory, a sentence each
  std::vector<std::string> too_few;   ///< on how many ranks there are fewer than servers, likewise
  std::size_t by_form = 0;            ///< places found by the batched form
  std::size_t by_simulation = 0;
  std::set<std::string> why_simulated;
  [[nodiscard]] std::size_t index(const PlanPlace& place) const {
    return (place.exchange * space.batches.size() + place.batch) * space.ranks.size() + place.rank;
  }
  [[nodiscard]] double at(const PlanPlace& place) const { return iteration[index(place)]; }
};

/// By the batched form (model/plan) where it holds, else by the task graph; of both the values,
/// without intervals. `run` says all but ranks, batch and the exchange. Throws ConfigError for an
/// empty or too large space, where too much of it must be simulated, and as predict() does, but for
/// memory.
IterationGrid iteration_grid(const Network& network, const Machine& machine, const Run& run,
                             const PlanSpace& space);

}  // namespace dlscale::model
