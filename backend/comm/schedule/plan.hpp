#pragma once
#include <cstddef>
#include <vector>

#include "backend/comm/schedule/layout.hpp"
#include "core/base/ids.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::backend {

/// What one rank does in one round of a schedule, in bytes of two memories: that of the slots, and
/// a staging area for what cannot be sent from, or received into, its slots.
struct RoundPlan {
  struct Message {
    Rank peer = 0;
    bool staged = false;     ///< in which of the two it lies
    std::size_t offset = 0;  ///< in that one
    std::size_t bytes = 0;
  };
  struct Copy {
    std::size_t slots = 0;  ///< offset there
    std::size_t staging = 0;
    std::size_t bytes = 0;
    bool adds = false;  ///< of landing: reduces instead
  };
  std::vector<Copy> pack;  ///< from the slots to staging, before messages travel
  std::vector<Message> out;
  std::vector<Message> in;
  std::vector<Copy> land;  ///< from staging to the slots afterwards, in this order
};

struct Plan {
  std::vector<RoundPlan> rounds;  ///< those in which the rank does something
  std::size_t staging = 0;        ///< bytes
};

/// All that `rank` has to do. What two ranks exchange in a round is one message. Both ends leave
/// out messages that are empty.
Plan plan_rounds(const collective::Schedule& schedule, const Layout& layout, Rank rank);

}  // namespace dlscale::backend
