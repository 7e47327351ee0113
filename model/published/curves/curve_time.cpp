#include "model/published/curves/curve_time.hpp"

#include <algorithm>
#include <cmath>

namespace dlscale::model {

CurveTime ranged(Seconds value, std::span<const Seconds> laws, double spread,
                 double latency_share) {
  CurveTime time{value, value, value, latency_share};
  for (const Seconds law : laws) {
    time.low = std::min(time.low, law);
    time.high = std::max(time.high, law);
  }
  const double wider = std::exp(spread);
  time.low = time.low / wider;
  time.high = wider * time.high;
  return time;
}

}  // namespace dlscale::model
