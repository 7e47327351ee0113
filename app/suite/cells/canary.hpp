#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::app {

/// Whether this machine tells like from like: the same short kernel is timed in pairs, A beside A.
/// A difference between the two is none of theirs but the machine's, and as large it is what
/// measuring here cannot be trusted below.

/// The two of a pair, in the order in which they ran.
struct CanaryPair {
  Seconds first;
  Seconds second;
};

/// Pairs that are taken at a time: the least from which a rank-based interval of 95 % is not all of
/// the range (core/base/statistics.hpp) with one to spare on both sides.
inline constexpr std::size_t canary_pairs = 10;

/// What counts as a difference, as a fraction.
inline constexpr double canary_margin = 0.01;

/// Pairs of the least of a few runs of a kernel of about a millisecond, one thread of this process.
std::vector<CanaryPair> run_canary();

/// How far the second kernel of pairs is from the first.
struct CanaryShift {
  double shift = 0;  ///< the median of log(second / first)
  double low = 0;    ///< its interval of 95 %
  double high = 0;
  bool alarm = false;  ///< the interval lies beyond the margin
};

/// Of pairs taken at one time: whether the second differs from the first, which is the same.
/// Requires canary_pairs of them, all times above zero.
CanaryShift judge_pairs(std::span<const CanaryPair> pairs);

/// Of two times: whether what was measured between them was on a machine that stayed as it was.
CanaryShift judge_drift(std::span<const CanaryPair> before, std::span<const CanaryPair> after);

/// "the same kernel +0.1 % [-0.2 %, +0.3 %]".
std::string to_text(const CanaryShift& verdict);

}  // namespace dlscale::app
