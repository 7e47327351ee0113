#pragma once

namespace dlscale {

/// In seconds. No time is as long as this: one that is written or measured so is a slip of the pen
/// or damage, and what is computed from it may not be finite.
inline constexpr double longest_time_s = 1e12;

}  // namespace dlscale
