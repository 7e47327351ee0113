#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class Validator;
}

namespace dlscale::app {

/// The syntax of an option that takes several numbers, separated by commas; each item is
///   8              a number,
///   1..8           all from 1 to 8,
///   1..1024:x2     1, 2, 4, … up to 1024, each the one before times 2 (a factor of 2 or more),
///   1..64:+8       1, 9, 17, … up to 64, each the one before plus 8 (a step of 1 or more).
/// The end belongs to the sweep only if a step reaches it.

/// The maximum number of values of one option.
inline constexpr std::size_t most_swept = 1'000'000;

/// Whole numbers from 1 to 2147483647, in the order in which they were typed. Throws ConfigError
/// for unreadable items, sweeps that end before they begin, too many numbers, and repeated numbers.
/// Each message begins with `option`.
std::vector<int> swept_counts(std::string_view option, std::span<const std::string> items);

/// A validator for one item of such an option; its messages are the same without `option`.
CLI::Validator count_sweep();

/// Quantities with units, as typed, each to be read by parse_quantity(): "10Gb/s". A sweep such as
/// "1Gb/s..64Gb/s:x2" becomes several texts. Throws ConfigError as swept_counts() does. Q is
/// BytesPerSecond, Seconds or Bytes; swept values are > 0.
template <class Q>
std::vector<std::string> swept_quantities(std::string_view option,
                                          std::span<const std::string> items);

}  // namespace dlscale::app
