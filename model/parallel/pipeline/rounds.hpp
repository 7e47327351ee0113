#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "core/parallel/schedule/schedule.hpp"

namespace dlscale::model {

/// Rounds of a schedule: from one to the next, each rank does the same operations on later
/// micro-batches. A list of more micro-batches has more of them, and begins and ends alike.
struct Rounds {
  int micro_batches = 1;               ///< of a round
  int count = 1;                       ///< in the list, ≥ 1
  std::vector<std::size_t> end;        ///< by rank: operations up to the end of the last round
  std::vector<std::size_t> length;     ///< by rank: operations of a round
  std::vector<std::size_t> under_way;  ///< message_place() of messages at the end of the last round
  std::vector<std::size_t> receivers;  ///< their ranks

  /// By rank: operations up to the end of round `number`, 0 … count.
  [[nodiscard]] std::vector<std::size_t> ends_at(int number) const;
  /// Messages under way at the end of that round, of `parts` parts.
  [[nodiscard]] std::vector<std::size_t> under_way_at(int number, int parts) const;
};

/// The rounds of `fewer`, of which `more` has one more: both are of one schedule, and differ in
/// their micro-batches. Absent if the lists do not repeat themselves so, as those of gpipe.
std::optional<Rounds> rounds_of(const parallel::Schedule& fewer, const parallel::Schedule& more);

}  // namespace dlscale::model
