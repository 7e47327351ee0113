#include "core/collective/pipeline.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

constexpr double most_segments = 1 << 30;

Seconds chain_time(const Link& link, int p, Bytes m, int segments) {
  return chain_rounds(p, segments) * (link.alpha + m / segments * (link.beta + link.gamma));
}

}  // namespace

Bytes optimal_chunk(const Link& link, int p, Bytes m, Bytes element) {
  EXPECT(p >= 1 && element.si() > 0 && element <= m);
  const auto [alpha, beta, gamma] = link;
  if (p <= 2) return m;
  const double wire = (beta + gamma).si();
  if (wire == 0) return m;  // only start-up times: as few segments as possible
  const Bytes best(std::sqrt(m.si() * alpha.si() / ((p - 2) * wire)));
  return std::clamp(best, element, m);
}

Seconds optimal_chain_time(const Link& link, int p, Bytes m) {
  EXPECT(p >= 2);
  const auto [alpha, beta, gamma] = link;
  const double root = std::sqrt((p - 2) * alpha.si()) + std::sqrt((m * (beta + gamma)).si());
  return Seconds(root * root);
}

int optimal_segments(const Link& link, int p, Bytes m, Bytes element) {
  const double ideal = m / optimal_chunk(link, p, m, element);
  const double most = std::min(most_segments, std::floor(m / element));
  const int below = static_cast<int>(std::clamp(std::floor(ideal), 1.0, most));
  const int above = static_cast<int>(std::clamp(std::ceil(ideal), 1.0, most));
  return chain_time(link, p, m, above) < chain_time(link, p, m, below) ? above : below;
}

}  // namespace dlscale::collective
