#include "model/goodput/spares.hpp"

#include <cmath>

#include "core/base/error.hpp"

namespace dlscale::model::goodput {

double waiting_share(double load, int spares) {
  EXPECT(std::isfinite(load) && load >= 0 && spares >= 0);
  double blocked = 1;
  for (int servers = 1; servers <= spares + 1; ++servers) {
    blocked = load * blocked / (servers + load * blocked);
  }
  return blocked;
}

/// Sums the distribution from its greatest term, relative to it, so that no load underflows.
int spares_for(double load, double share) {
  EXPECT(std::isfinite(load) && load >= 0 && load < 1e9 && share > 0 && share < 1);
  if (load == 0) return 0;
  const int mode = static_cast<int>(load);
  double below = 0;  // Σ over k ≤ mode of p(k) / p(mode)
  double term = 1;
  for (int k = mode; k >= 0 && term > 1e-18; --k) {
    below += term;
    term *= k / load;
  }
  double above = 0;
  term = load / (mode + 1);
  for (int k = mode + 1; term > 1e-18; ++k) {
    above += term;
    term *= load / (k + 1);
  }
  const double enough = share * (below + above);
  int most = mode;  // the chance of up to `most` under repair is below / (below + above)
  term = 1;
  if (below >= enough) {
    for (; most > 0 && below - term >= enough; --most) {
      below -= term;
      term *= most / load;
    }
  } else {
    while (below < enough) {
      ++most;
      term *= load / most;
      below += term;
    }
  }
  return most + 1;
}

}  // namespace dlscale::model::goodput
