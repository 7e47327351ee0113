#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/run/framework_file.hpp"
#include "model/published/scaling/facts/facts.hpp"

namespace dlscale::model::scaling {

/// The traits of the framework and release that the text of a case names, by its profile. Adds a
/// sentence to `guesses` if no profile matches. A text without a release counts as the middle of
/// 2020, limited to the months of the profile's versions.
FrameworkTraits framework_traits(std::string_view text,
                                 const std::vector<FrameworkProfile>& profiles,
                                 std::vector<std::string>& guesses);

}  // namespace dlscale::model::scaling
