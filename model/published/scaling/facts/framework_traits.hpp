#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/run/framework_file.hpp"
#include "model/published/scaling/facts/facts.hpp"

namespace dlscale::model::scaling {

/// The release month of the software, as stated in a text. It is the month of a container ("NGC
/// 21.05", "Release 20.06", "tensorflow:20.11-tf1"), or of the first release of a framework's
/// version ("PyTorch 1.4"). The latest of several counts; empty if there is none.
std::optional<ReleaseMonth> stated_release(std::string_view text);

/// The traits of the framework and release that the text of a case names, by its profile, which
/// may be for some networks only. Adds a sentence to `guesses` if no profile matches. A text
/// without a release counts as the middle of 2020, limited to the months of the profile's versions.
FrameworkTraits framework_traits(std::string_view text, std::string_view network,
                                 const std::vector<FrameworkProfile>& profiles,
                                 std::vector<std::string>& guesses);

/// The month of software whose release is not stated.
inline constexpr ReleaseMonth unstated_release{2020, 7};

/// The traits of a profile by itself. A library that others compute beside (no input_copy, launch
/// unknown) is taken to serve PyTorch, which launches kernels one by one. The version of that month
/// is used, or the nearest one.
FrameworkTraits traits_of(const FrameworkProfile& profile,
                          ReleaseMonth released = unstated_release);

}  // namespace dlscale::model::scaling
