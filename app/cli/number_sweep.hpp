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

/// Numbers of an option that takes several, as typed, split at commas; each item is
///   8              a number,
///   1..8           all from 1 to 8,
///   1..1024:x2     1, 2, 4, … up to 1024, each the one before times 2 (a factor of 2 or more),
///   1..64:+8       1, 9, 17, … up to 64, each the one before plus 8 (a step of 1 or more).
/// The end is part of a sweep only if a step meets it.

/// The most numbers that one option may stand for.
inline constexpr std::size_t most_swept = 1'000'000;

/// Whole numbers from 1 to 2147483647, in the order in which they were typed. Throws ConfigError
/// for what cannot be read, sweeps that end before they begin, too many numbers, and one that is
/// named twice; each message opens with `option`.
std::vector<int> swept_counts(std::string_view option, std::span<const std::string> items);

/// A check for such options, of one item: the same messages without the option.
CLI::Validator count_sweep();

/// Quantities with units, as typed, each to be read by parse_quantity(): "10Gb/s", or
/// "1Gb/s..64Gb/s:x2", which becomes as many texts. Throws ConfigError as swept_counts() does; Q is
/// BytesPerSecond, Seconds or Bytes, all > 0 where they are swept.
template <class Q>
std::vector<std::string> swept_quantities(std::string_view option,
                                          std::span<const std::string> items);

}  // namespace dlscale::app
