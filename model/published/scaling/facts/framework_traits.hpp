#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/run/framework_file.hpp"
#include "model/published/scaling/facts/facts.hpp"

namespace dlscale::model::scaling {

/// What the profile that is meant by the words of a case, and the release that they state, say of
/// time. Adds a sentence to `guesses` where no profile is meant. Words without a release are taken
/// for the middle of 2020, within the months from which the profile's versions are.
FrameworkTraits framework_traits(std::string_view text,
                                 const std::vector<FrameworkProfile>& profiles,
                                 std::vector<std::string>& guesses);

}  // namespace dlscale::model::scaling
