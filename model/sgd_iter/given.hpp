#pragma once
#include <algorithm>

#include "core/units.hpp"

namespace dlscale::model {

/// Steps that a host gives to a device which does them in order: step i starts when it was given
/// and step i - 1 is done. If the host starts to give at h and the device is free from c on, then
/// the device is done at max{ c + device, h + together } and the host at h + host. Exact, whatever
/// the steps: each is the max-plus matrix of (h, c), and these three numbers are their
/// product. [D, derived: a (max, +) product, as (1.9) is]
struct Given {
  Seconds device;    ///< Σ d: with all given beforehand
  Seconds host;      ///< Σ g; 0 where the host computes itself, or gives all at once
  Seconds together;  ///< max over i of g_1 + … + g_i + d_i + … + d_n: on an idle device

  Given() = default;
  /// One that needs no giving; implicit, for that is what a time by itself says.
  Given(Seconds alone) : device(alone), together(alone) {}
  static Given step(Seconds give, Seconds compute) {
    Given one(compute);
    one.host = give;
    one.together = give + compute;
    return one;
  }

  /// These steps, then those of `next`.
  [[nodiscard]] Given then(const Given& next) const {
    Given both(device + next.device);
    both.host = host + next.host;
    both.together = std::max(together + next.device, host + next.together);
    return both;
  }
};

}  // namespace dlscale::model
