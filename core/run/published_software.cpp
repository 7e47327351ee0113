#include "core/run/published_software.hpp"

#include <fmt/format.h>

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

}  // namespace

PublishedSoftware published_software(const std::vector<FrameworkProfile>& profiles,
                                     std::string_view text, const NetworkInPrecision& network,
                                     std::optional<ReleaseMonth> released) {
  FoundRow found = find_by_match(profiles, text, network);
  if (found.row == nullptr) {
    const std::string all = fmt::format("{}, {}", text, network.name);
    found = find_in(find_framework(profiles, all, released), network);
  }
  return {found.row == nullptr ? usual_traits(network.family) : found.row->traits,
          launch_of(found.profile)};
}

}  // namespace dlscale
