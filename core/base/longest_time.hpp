#pragma once

namespace dlscale {

/// Upper limit of a plausible time in seconds. A longer written or measured time is a typing error
/// or damage, and results computed from it may not be finite.
inline constexpr double longest_time_s = 1e12;

}  // namespace dlscale
