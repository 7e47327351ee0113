#include "regression/statistics/hodges_lehmann.hpp"

#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::regression {

double hodges_lehmann(std::span<const double> averages) {
  EXPECT(!averages.empty());
  const std::size_t half = averages.size() / 2;
  return averages.size() % 2 == 1 ? averages[half] : (averages[half - 1] + averages[half]) / 2;
}

double hodges_lehmann_shift(std::span<const double> a, std::span<const double> b) {
  EXPECT(!a.empty() && !b.empty());
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double before : a) {
    for (const double after : b) differences.push_back(after - before);
  }
  return median(differences);
}

}  // namespace dlscale::regression
