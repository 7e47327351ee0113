#include "model/sgd_iter/messages/pair_time.hpp"

#include <string>

#include "core/base/error.hpp"
#include "model/communication/carrier.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"

namespace dlscale::model {
namespace {

bool is_over_same_kind(const CollectiveFit& pair, const Placement& placement) {
  return (pair.ranks > pair.ranks_on_node) == (placement.nodes() > 1);
}

/// Time by a single-level closed form, with all messages on one kind of link.
Estimate<Seconds> time_of(const LinkTerms& terms, const Segment& pair,
                          const Estimate<SecondsPerByte>& gamma, Bytes m) {
  const double alphas = terms.alpha_intra + terms.alpha_inter;
  const Bytes sent = (terms.beta_intra + terms.beta_inter) * m;
  const auto by = [&](auto bound, auto per_byte) {
    return alphas * pair.alpha.*bound + sent * (pair.beta.*per_byte) +
           terms.gamma * m * (gamma.*per_byte);
  };
  using Time = Estimate<Seconds>;
  using Slope = Estimate<SecondsPerByte>;
  return {by(&Time::value, &Slope::value), by(&Time::low, &Slope::low),
          by(&Time::high, &Slope::high)};
}

}  // namespace

const CollectiveFit* measured_pair(const Machine& machine, const Placement& placement,
                                   Schedule schedule) {
  const std::string_view wanted = waiting_in(schedule);
  const auto is_better = [wanted](const CollectiveFit& a, const CollectiveFit& b) {
    const bool as_wanted = a.waiting == wanted;
    if (as_wanted != (b.waiting == wanted)) return as_wanted;
    return a.ranks < b.ranks;
  };
  const CollectiveFit* found = nullptr;
  for (const CollectiveFit& fit : machine.collectives) {
    if (fit.collective != "sendrecv" || !is_over_same_kind(fit, placement)) continue;
    if (found == nullptr || is_better(fit, *found)) found = &fit;
  }
  return found;
}

PairTime all_reduce_by_pair(const Machine& machine, const CollectiveFit& pair,
                            const Placement& placement, Bytes m,
                            std::span<const std::string_view> algorithms) {
  Estimate<SecondsPerByte> gamma{};
  if (machine.reduction) gamma = machine.reduction->per_byte;
  PairTime best;
  for (const std::string_view name : algorithms) {
    const Carrier carrier{"all_reduce", ChosenBy::fit, std::string(name), 1};
    const auto terms = carrier.terms(placement, m);
    if (!terms) continue;
    const Segment& segment = pair.cost.segment(terms->transfer * m);
    const Estimate<Seconds> time = time_of(*terms, segment, gamma, m);
    if (best.algorithm.empty() || time.value < best.time.value) best = {time, name};
  }
  EXPECT(!best.algorithm.empty());
  return best;
}

}  // namespace dlscale::model
