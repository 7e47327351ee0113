#include "bench/comm/overlap/overlap.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"

namespace dlscale::bench {

Overlap overlap(const OverlapTimes& times) {
  const auto [t_c, t_m, t_o, c_o, m_o] = times;
  EXPECT(t_c > Seconds(0) && t_m > Seconds(0));
  const Seconds exposed = std::max(Seconds(0), t_o - c_o);
  return {.efficiency = (t_c + t_m - t_o) / std::min(t_c, t_m),
          .compute_slowdown = c_o / t_c,
          .messages_slowdown = m_o / t_m,
          .exposed = exposed,
          .hidden = m_o - exposed};
}

int matching_runs(double ratio, Seconds messages, Seconds each) {
  EXPECT(ratio > 0 && each > Seconds(0));
  return static_cast<int>(std::clamp(std::round(ratio * (messages / each)), 1.0, 1e6));
}

}  // namespace dlscale::bench
