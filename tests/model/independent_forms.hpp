#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"

namespace dlscale::model {

/// Formulas that predictions do without: what they say is held to them.

/// wait_free_closed_form() as a recurrence over messages:
///   τ_b(L) = 0,       τ_b(l) = τ_b(l+1) + t_b(l+1)
///   τ_c(L) = t_b(L),  τ_c(l) = max{ τ_c(l+1) + t_c(l+1), τ_b(l) + t_b(l) }
///   T_bc = max{ τ_c(1) + t_c(1), Σ t_b }
inline BackwardWithComm wait_free_recurrence(std::span<const Seconds> backward,
                                             std::span<const Seconds> comm) {
  Seconds computed;      // τ_b(l) + t_b(l)
  Seconds communicated;  // τ_c(l) + t_c(l)
  for (std::size_t i = 0; i < backward.size(); ++i) {
    computed += backward[i];
    communicated = std::max(communicated, computed) + comm[i];
  }
  const Seconds finish = std::max(communicated, computed);
  return {finish, finish - computed};
}

/// μ + σ (N-1)/√(2N-1): E[max] of no distribution is above, and one has just that.
/// [Hartley & David 1954; Gumbel 1954]
inline Seconds slowest_at_most(Seconds mean, Seconds deviation, std::int64_t workers) {
  const auto N = static_cast<double>(workers);
  return mean + deviation * ((N - 1) / std::sqrt(2 * N - 1));
}

/// Delay of training by one batch that takes `late` instead of t_io ≤ t_compute, where d ≥ 1
/// batches are read ahead. The thread begins it once the batch d before is taken, so the delay is
///   max{ 0, late - d t_compute }   [D, derived]
inline Seconds late_batch_stall(Seconds late, Seconds compute, int prefetch) {
  return std::max(Seconds(), late - prefetch * compute);
}

/// The reverse of expected_slowest() of normal times: σ = (t_iter(N) - t_iter(1) - t_c) / e_N from
/// iterations on N ≥ 2 workers and on one, and the communication that shows. Nothing where N
/// workers were no slower than that: then these figures tell of no spread. Every other cause of
/// lost time is taken for it.
inline std::optional<Seconds> deviation_from_scaling(Seconds iteration, Seconds alone, Seconds comm,
                                                     std::int64_t workers) {
  EXPECT(workers >= 2);
  const Seconds lost = iteration - alone - comm;
  if (lost < Seconds()) return std::nullopt;
  return lost / expected_normal_maximum(workers);
}

}  // namespace dlscale::model
