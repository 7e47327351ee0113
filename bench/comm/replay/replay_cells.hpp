#pragma once
#include <map>
#include <string>
#include <vector>

#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Whether --replay names a profile.
bool asks_for_replay(const Context& context);

/// The cells of that profile: of each run in it whole iterations, and each message. `common` are
/// the axes of these ranks, `warnings` what is doubtful about them. Throws ConfigError if the file
/// is no whole profile, and for options that have no effect on a replay.
std::vector<Cell> replay_cells(const Context& context,
                               const std::map<std::string, std::string>& common,
                               const std::vector<std::string>& warnings);

/// Throws ConfigError for options that have an effect on a replay only.
void refuse_replay_options(const Context& context);

}  // namespace dlscale::bench
