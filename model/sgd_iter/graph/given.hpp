#pragma once
#include <algorithm>
#include <array>
#include <cstddef>

#include "core/base/units.hpp"
#include "model/communication/contention.hpp"

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
  /// What of `device` is of each kind of work; of the rest it is not said.
  std::array<Seconds, work_kinds> of_kind{};

  Given() = default;
  /// One that needs no giving; implicit, for that is what a time by itself says.
  Given(Seconds alone) : device(alone), together(alone) {}
  static Given step(Seconds give, Seconds compute) {
    Given one(compute);
    one.host = give;
    one.together = give + compute;
    return one;
  }
  static Given step(Seconds give, Seconds compute, WorkKind kind) {
    Given one = step(give, compute);
    one.of_kind[index_of(kind)] = compute;
    return one;
  }

  /// The same by a host that gives in no time.
  [[nodiscard]] Given given_at_once() const {
    Given one(*this);
    one.host = {};
    one.together = device;
    return one;
  }

  /// These steps, then those of `next`.
  [[nodiscard]] Given then(const Given& next) const {
    Given both(device + next.device);
    both.host = host + next.host;
    both.together = std::max(together + next.device, host + next.together);
    for (std::size_t i = 0; i < work_kinds; ++i) both.of_kind[i] = of_kind[i] + next.of_kind[i];
    return both;
  }
};

}  // namespace dlscale::model
