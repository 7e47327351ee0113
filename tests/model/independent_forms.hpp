#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

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

/// contended_backward() as a closed form where s_c and s_m are alike for all. By a clock that tells
/// the work done by backward, messages that travel beside it last ρ = s_m / s_c times as long as
/// alone, and wait_free_closed_form() holds:
///   X = max over 1 ≤ c ≤ L of Σ_{i=c..L} t_b(i) + ρ Σ_{i=1..c} t_c(i), less Σ t_b, at least 0
///   t_c^no = X / ρ,   backward takes  Σ t_b + (s_c - 1) (ρ Σ t_c - X)
///   beside it messages travel for  s_c (ρ Σ t_c - X)
/// [D, derived: backward loses (s_c - 1) / s_c of the time that messages travel beside it]
inline ContendedBackward contended_closed_form(std::span<const Seconds> backward,
                                               std::span<const Seconds> comm,
                                               const Contention& contention) {
  const auto [s_c, s_m] = contention;
  const double rho = s_m / s_c;
  std::vector<Seconds> slowed;
  Seconds all;
  for (const Seconds message : comm) {
    slowed.push_back(rho * message);
    all += slowed.back();
  }
  const Seconds X = wait_free_closed_form(backward, slowed).exposed;
  const Seconds beside = all - X;
  const Seconds alone = std::accumulate(backward.begin(), backward.end(), Seconds());
  return {alone + (s_c - 1) * beside, s_c * beside, X / rho};
}

/// μ + σ (N-1)/√(2N-1): E[max] of no distribution is above, and one has just that.
/// [Hartley & David 1954; Gumbel 1954]
inline Seconds slowest_at_most(Seconds mean, Seconds deviation, std::int64_t workers) {
  const auto N = static_cast<double>(workers);
  return mean + deviation * ((N - 1) / std::sqrt(2 * N - 1));
}

/// What one late batch, which takes `late` instead of t_io ≤ t_compute, holds training up, if
/// d ≥ 1 batches are read ahead: the thread begins it once the batch d before is taken, so
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
