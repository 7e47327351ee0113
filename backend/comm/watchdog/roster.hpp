#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/comm/watchdog/line.hpp"

namespace dlscale::backend {

/// Identity of a rank. A plain type for an all-gather.
struct Card {
  std::int64_t process = 0;
  std::uint64_t node = 0;  ///< equal for ranks that can connect by local sockets
  std::array<char, 64> host{};
};

using Roster = std::vector<Card>;  ///< by rank

/// Card of this process.
Card own_card();

/// Gathers the cards of all ranks. Collective.
Roster exchange_cards(Communicator& communicator);

/// "n1: 0-3, 6, n2: 4-5": the ranks of each node, ordered by the first rank of each.
std::string ranks_by_host(const Roster& roster);

/// "rank 3 (process 4711 on node n2)"
std::string describe(const Roster& roster, Rank rank);

/// "dlscale: rank 3 (process 4711 on node n2) was interrupted; all ranks stop."
std::string interruption_notice(const Roster& roster, const std::set<Rank>& interrupted);

/// Message about a rank that died, was silent for `patience`, or failed.
std::string notice(const Roster& roster, Rank rank, Fate fate, Seconds patience,
                   const std::filesystem::path& results);

}  // namespace dlscale::backend
