#include "core/run/published_software.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "core/run/phrase_match.hpp"

namespace dlscale {
namespace {

/// A row and its profile; nullptr: there is none.
struct FoundRow {
  const FrameworkProfile* profile = nullptr;
  const ComputeRow* row = nullptr;
};

FoundRow find_by_match(const std::vector<FrameworkProfile>& profiles, std::string_view text,
                       const NetworkInPrecision& network) {
  FoundRow found;
  std::size_t longest = 0;
  for (const FrameworkProfile& profile : profiles) {
    for (const ComputeRow& row : profile.compute) {
      if (!is_about(row, network)) continue;
      const std::size_t letters = longest_match(row.match, text);
      if (letters <= longest) continue;
      longest = letters;
      found = {&profile, &row};
    }
  }
  return found;
}

FoundRow find_in(const FrameworkProfile* profile, const NetworkInPrecision& network) {
  if (profile == nullptr) return {};
  for (const ComputeRow& row : profile->compute) {
    if (row.match.empty() && is_about(row, network)) return {profile, &row};
  }
  return {profile, nullptr};
}

Launch launch_of(const FrameworkProfile* profile) {
  const bool recorded = profile != nullptr && profile->launch.is_stated() &&
                        profile->launch.value() == KernelLaunch::recorded;
  return recorded ? Launch::graph : Launch::eager;
}

/// Years from a release of the vendor's libraries to frameworks that are built with it: cuDNN 6 of
/// 2017-04 came with TensorFlow 1.3 of 2017-08, 7.4 of 2018-10 with 1.13 of 2019-02.
constexpr double years_to_frameworks = 0.4;

/// Libraries cannot be newer than what was built with them.
void limit_libraries(ComputeTraits& traits, std::optional<ReleaseMonth> released) {
  if (!released) return;
  constexpr double months = 12;
  const double year = released->year + (released->month - 1) / months;
  traits.libraries = std::min(traits.libraries, year - years_to_frameworks);
}

}  // namespace

PublishedSoftware published_software(const std::vector<FrameworkProfile>& profiles,
                                     std::string_view text, const NetworkInPrecision& network,
                                     std::optional<ReleaseMonth> released) {
  FoundRow found = find_by_match(profiles, text, network);
  if (found.row != nullptr) return {found.row->traits, launch_of(found.profile)};
  const std::string all = fmt::format("{}, {}", text, network.name);
  found = find_in(find_framework(profiles, all, released), network);
  PublishedSoftware software{
      found.row == nullptr ? usual_traits(network.family) : found.row->traits,
      launch_of(found.profile)};
  limit_libraries(software.traits, released);
  return software;
}

}  // namespace dlscale
