#pragma once
#include <algorithm>
#include <array>
#include <cstddef>

#include "core/base/units.hpp"
#include "model/communication/contention.hpp"

namespace dlscale::model {

/// Steps that a host launches on a device that runs them in order: step i starts when it is
/// launched and step i - 1 is done. If the host starts to launch at h and the device is free at c,
/// the device ends at max{ c + device, h + together }. The host ends at h + host. This is exact:
/// each step is a max-plus matrix on (h, c), and these three numbers are their product. [D,
/// derived: a (max, +) product, as (1.9) is]
struct LaunchedWork {
  Seconds device;    ///< Σ d: all launched beforehand
  Seconds host;      ///< Σ g; 0 where the host computes itself, or launches in no time
  Seconds together;  ///< max over i of g_1 + … + g_i + d_i + … + d_n: on an idle device
  /// The part of `device` by kind of work; the rest has no known kind.
  std::array<Seconds, work_kinds> of_kind{};

  LaunchedWork() = default;
  /// Work without launch time; implicit, because a bare time means that.
  LaunchedWork(Seconds alone) : device(alone), together(alone) {}
  static LaunchedWork step(Seconds give, Seconds compute) {
    LaunchedWork one(compute);
    one.host = give;
    one.together = give + compute;
    return one;
  }
  static LaunchedWork step(Seconds give, Seconds compute, WorkKind kind) {
    LaunchedWork one = step(give, compute);
    one.of_kind[index_of(kind)] = compute;
    return one;
  }

  /// The same steps, launched in no time.
  [[nodiscard]] LaunchedWork launched_at_once() const {
    LaunchedWork one(*this);
    one.host = {};
    one.together = device;
    return one;
  }

  /// These steps followed by those of `next`.
  [[nodiscard]] LaunchedWork then(const LaunchedWork& next) const {
    LaunchedWork both(device + next.device);
    both.host = host + next.host;
    both.together = std::max(together + next.device, host + next.together);
    for (std::size_t i = 0; i < work_kinds; ++i) both.of_kind[i] = of_kind[i] + next.of_kind[i];
    return both;
  }
};

}  // namespace dlscale::model
