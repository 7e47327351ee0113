#pragma once
#include <vector>

#include "core/config/config_file.hpp"
#include "core/run/compute_traits.hpp"

namespace dlscale {

/// Reads the key `compute` of a framework's profile, a list of rows; none where the file has no
/// such key. Each row names the networks (images, sequences, any) and the precision (four_bytes,
/// two_bytes, any) that it is about, and every property of ComputeTraits, if only as "unknown".
/// Throws ConfigError, which names file, place and what to write.
std::vector<ComputeRow> read_compute(const ConfigMap& map);

}  // namespace dlscale
