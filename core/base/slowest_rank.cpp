#include "core/base/slowest_rank.hpp"

#include <cmath>

#include "core/base/error.hpp"

namespace dlscale {

std::vector<double> slowest_rank(const std::vector<std::vector<double>>& samples) {
  EXPECT(!samples.empty());
  std::vector<double> slowest = samples.front();
  for (const std::vector<double>& rank : samples) {
    EXPECT(rank.size() == slowest.size());
    for (std::size_t i = 0; i < rank.size(); ++i) slowest[i] = std::fmax(slowest[i], rank[i]);
  }
  return slowest;
}

}  // namespace dlscale
