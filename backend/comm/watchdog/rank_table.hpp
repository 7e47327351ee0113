#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/comm/watchdog/channel.hpp"

namespace dlscale::backend {

/// Identity of a rank. A plain type for an all-gather.
struct RankInfo {
  std::int64_t process = 0;
  std::uint64_t node = 0;  ///< equal for ranks that can connect by local sockets
  std::array<char, 64> host{};
};

using RankTable = std::vector<RankInfo>;  ///< by rank

/// Identity of this process.
RankInfo own_rank_info();

/// Gathers the identities of all ranks. Collective.
RankTable exchange_rank_info(Communicator& communicator);

/// "n1: 0-3, 6, n2: 4-5": the ranks of each node, ordered by the first rank of each.
std::string ranks_by_host(const RankTable& rank_table);

/// "rank 3 (process 4711 on node n2)"
std::string describe(const RankTable& rank_table, Rank rank);

/// "dlscale: rank 3 (process 4711 on node n2) was interrupted; all ranks stop."
std::string interruption_notice(const RankTable& rank_table, const std::set<Rank>& interrupted);

/// Message about a rank that died, was silent for `patience`, or failed.
std::string notice(const RankTable& rank_table, Rank rank, RankState state, Seconds patience,
                   const std::filesystem::path& results);

}  // namespace dlscale::backend
