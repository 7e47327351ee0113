#pragma once
#include <vector>

#include "core/config/config_file.hpp"
#include "core/run/compute_traits.hpp"

namespace dlscale {

/// Reads the key `compute` of a framework's profile, a list of rows; none where the file has no
/// such key. Each row names the networks that it is about, `elementwise`, of CNNs `layout`, and its
/// source. All else is as usual_traits() unless the row says otherwise. Throws ConfigError, which
/// names file, place and what to write.
std::vector<ComputeRow> read_compute(const ConfigMap& map);

}  // namespace dlscale
