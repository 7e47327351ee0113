#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "core/run/compute_traits.hpp"
#include "core/run/framework_file.hpp"
#include "core/run/run.hpp"

namespace dlscale {

/// How the software of a published training computes, and launches kernels.
struct PublishedSoftware {
  ComputeTraits traits;  ///< of the network in that precision
  Launch launch = Launch::eager;
};

/// The software that `text`, a free description of what trained, means. Gradients may be sent by
/// another framework than the one that computes, so rows with a `match` are looked for in all
/// profiles: the longest one counts, and among equal ones the first. Without any, the rows of the
/// profile count that find_framework() finds, and else the usual traits, both with libraries that
/// are older than the release.
PublishedSoftware published_software(const std::vector<FrameworkProfile>& profiles,
                                     std::string_view text, const NetworkInPrecision& network,
                                     std::optional<ReleaseMonth> released = {});

}  // namespace dlscale
