#include "model/published/scaling/fit/choose_terms.hpp"

#include <cstddef>

namespace dlscale::model::scaling {
namespace {

/// The least relative gain for which a term is added.
constexpr double least_gain = 0.01;

}  // namespace

Terms choose_terms(std::span<const Observed> observed, const FitSettings& settings) {
  FitSettings with = settings;
  const auto loss = [&](const Terms& terms) {
    with.terms = terms;  // the prior's term is 0 at the medians
    return fit_loss(observed, Parameters::prior_of(terms), with);
  };
  Terms chosen;
  double least = loss(chosen);
  while (!chosen.all()) {
    Terms best = chosen;
    double best_loss = least;
    for (std::size_t i = 0; i < parameter_count; ++i) {
      if (chosen[i]) continue;
      Terms more = chosen;
      more.set(i);
      const double now = loss(more);
      if (now >= best_loss) continue;
      best = more;
      best_loss = now;
    }
    if (best_loss >= (1 - least_gain) * least) break;
    chosen = best;
    least = best_loss;
  }
  return chosen;
}

}  // namespace dlscale::model::scaling
