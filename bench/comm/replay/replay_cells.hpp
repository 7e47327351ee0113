#pragma once
#include <map>
#include <string>
#include <vector>

#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Whether --replay was given.
bool asks_for_replay(const Context& context);

/// The cells of the profile: whole iterations of each run in it, and each message. `common` are the
/// axes of these ranks, `warnings` those for every row. Throws ConfigError if the file is not a
/// complete profile, and for options that have no effect on a replay.
std::vector<Cell> replay_cells(const Context& context,
                               const std::map<std::string, std::string>& common,
                               const std::vector<std::string>& warnings);

/// Throws ConfigError for options that affect only a replay.
void refuse_replay_options(const Context& context);

}  // namespace dlscale::bench
