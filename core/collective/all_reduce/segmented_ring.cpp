#include <utility>

#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// The ring with its reduce-scatter in phases, each with one segment of every block.
Schedule segmented_ring_schedule(const Settings& settings) {
  const int p = settings.p;
  const int k = settings.segments;
  const Group ring = everyone(p);
  Rounds rounds;
  for (int segment = 0; segment < k; ++segment) {
    rounds = in_turn(std::move(rounds), backwards(ring_all_gather(ring, {segment, k, 1})));
  }
  return {p, p * k, in_turn(std::move(rounds), ring_all_gather(ring, {0, k, k}))};
}

/// T = (k + 1)(p-1) α + 2 (p-1)/p m β + (p-1)/p m γ with k segments   [Open MPI,
/// coll_base_allreduce.c]
/// It helps where adding overlaps with sending, which a model of rounds does not represent.
Seconds segmented_ring_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  const double P = settings.p;
  const double k = settings.segments;
  return (k + 1) * (P - 1) * alpha + 2 * (P - 1) / P * m * beta + (P - 1) / P * m * gamma;
}

}  // namespace

extern const Algorithm all_reduce_segmented_ring{
    "segmented_ring",        "a ring that reduces one segment of every block after the other",
    Collective::all_reduce,  segmented_ring_schedule,
    segmented_ring_cost,     Outflow::one,
    Traits{.segments = true}};

}  // namespace dlscale::collective
