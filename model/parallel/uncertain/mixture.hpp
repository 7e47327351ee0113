#pragma once
#include <span>

namespace dlscale::model::parallel_time {

/// One way in which a training may have run.
struct PossibleTime {
  double weight = 0;   ///< ≥ 0; all together > 0
  double seconds = 1;  ///< > 0
  double low = 1;      ///< of its 90 % interval, 0 < low < seconds
  double high = 1;     ///< > seconds
};
/// A time with its 90 % interval.
struct MixedTime {
  double seconds = 1;
  double low = 1;
  double high = 1;
};

/// The time of a training that ran in one of several ways, e^(Σ w ln t), with the 5 and 95 %
/// quantiles of their mixture. The logarithm of each way is normal about its own, with another
/// width on either side. Quantiles err by less than 1e-6. [derived]
MixedTime mixed_time(std::span<const PossibleTime> ways);

}  // namespace dlscale::model::parallel_time
