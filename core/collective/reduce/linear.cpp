#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"

namespace dlscale::collective {
namespace {

/// One rank after another sends to the root, whose incoming link they would share anyway.
Schedule linear_schedule(const Settings& settings) {
  const int p = settings.p;
  const Rank root = settings.root;
  EXPECT(p >= 1 && root >= 0 && root < p);
  Schedule result{p, 1, {}};
  for (int i = 1; i < p; ++i) {
    result.rounds.push_back({{(root + i) % p, root, 0, 1, Transfer::Action::add}});
  }
  return result;
}

/// T = (p-1)(α + m β + m γ)   [derived]
Seconds linear_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  return (settings.p - 1) * (alpha + m * beta + m * gamma);
}

}  // namespace

extern const Algorithm reduce_linear{"linear",           "each rank sends to the root",
                                     Collective::reduce, linear_schedule,
                                     linear_cost,        Outflow::one};

}  // namespace dlscale::collective
