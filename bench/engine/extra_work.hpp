#pragma once
#include <string>
#include <string_view>

namespace dlscale::bench {

/// A slow-down of known size, for studies of what a machine's noise hides: every sample is of 100
/// runs and so many percent more, all of them done and timed, and is divided by 100 as if those
/// more had not been. What 0 % takes is the same work by the same number of clocks, so that only
/// samples of this kind compare with each other. Rows say so in an axis (core/results/usable_rows.hpp).
struct ExtraWork {
  int runs = 1;     ///< a sample is the time of so many
  int counted = 1;  ///< divided by so many
};

/// "5%" or "5 %": 105 runs that count as 100. Throws ConfigError for what is no whole number from 0
/// to 100 with a percent sign.
ExtraWork parse_extra_work(std::string_view text);

/// "5%".
std::string extra_work_text(const ExtraWork& extra);

}  // namespace dlscale::bench
