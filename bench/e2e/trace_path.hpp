#pragma once
#include <filesystem>
#include <string>

#include "core/base/ids.hpp"

namespace dlscale::bench {

/// Path of a rank's trace for bench e2e --trace TRACE: TRACE-rank0.json and so on.
inline std::filesystem::path trace_path(const std::filesystem::path& trace, Rank rank) {
  return trace.string() + "-rank" + std::to_string(rank) + ".json";
}

}  // namespace dlscale::bench
