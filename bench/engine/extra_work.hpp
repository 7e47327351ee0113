#pragma once
#include <string>
#include <string_view>

namespace dlscale::bench {

/// A slow-down of known size, for studies of the smallest change that noise lets one detect. Every
/// sample times 100 runs and the given percentage more, and is divided by 100. Samples of any
/// percentage, 0 % included, read the clock equally often, so they compare only with each other.
/// Rows record it in an axis (core/results/usable_rows.hpp).
struct ExtraWork {
  int runs = 1;     ///< runs timed in a sample
  int counted = 1;  ///< divisor of a sample's time
};

/// Parses "5%" or "5 %": 105 runs that count as 100. Throws ConfigError unless the text is a whole
/// number from 0 to 100 with a percent sign.
ExtraWork parse_extra_work(std::string_view text);

/// The text form, for example "5%".
std::string extra_work_text(const ExtraWork& extra);

}  // namespace dlscale::bench
