#include "regression/statistics/benjamini_hochberg.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"

namespace dlscale::regression {

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  EXPECT(std::ranges::all_of(p, [](double value) { return value >= 0 && value <= 1; }));
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&p](std::size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size());
  double least = 1;
  for (std::size_t rank = p.size(); rank-- > 0;) {
    const double scaled =
        p[order[rank]] * static_cast<double>(p.size()) / static_cast<double>(rank + 1);
    least = std::min(least, scaled);
    adjusted[order[rank]] = least;
  }
  return adjusted;
}

}  // namespace dlscale::regression
