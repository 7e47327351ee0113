#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// Reduce-scatter by recursive halving, all-gather by recursive doubling.
Schedule rabenseifner_schedule(const Settings& settings) {
  const PowerOfTwoGroup group(settings.p);
  const Rounds gather = doubling_all_gather(everyone(group.size()));
  Schedule inner;
  inner.chunks = group.size();
  inner.rounds = in_turn(backwards(gather), gather);
  return group.around(inner);
}

/// T = 2 lg p α + 2 (p-1)/p m β + (p-1)/p m γ for p = 2^k   [Thakur et al. 2005]
/// else, with p' = 2^⌊lg p⌋ ranks taking part,
/// T = (2 lg p' + 2) α + (2 (p'-1)/p' + 2) m β + ((p'-1)/p' + 1) m γ.
/// The comment in MPICH (src/mpi/coll/allreduce) has p for p' in the last two terms. That is up to
/// 1/p' of m (2 β + γ) more than the algorithm sends.
Seconds rabenseifner_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  const int p = settings.p;
  const double P = largest_power_of_2(p);
  const double folds = p == largest_power_of_2(p) ? 0 : 1;
  const double share = (P - 1) / P;
  return (2 * floor_log2(p) + 2 * folds) * alpha + 2 * (share + folds) * m * beta +
         (share + folds) * m * gamma;
}

}  // namespace

extern const Algorithm all_reduce_rabenseifner{
    "rabenseifner",         "recursive halving, then doubling; few messages and few bytes",
    Collective::all_reduce, rabenseifner_schedule,
    rabenseifner_cost,      Outflow::every_rank};

}  // namespace dlscale::collective
