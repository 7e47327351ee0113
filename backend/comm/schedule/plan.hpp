#pragma once
#include <cstddef>
#include <vector>

#include "backend/comm/schedule/layout.hpp"
#include "core/base/ids.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::backend {

/// One rank's work in one round of a schedule, in bytes of two memories: the slots, and a staging
/// area for data that cannot be sent from, or received into, its slots.
struct RoundPlan {
  struct Message {
    Rank peer = 0;
    bool staged = false;     ///< whether it is in staging or in the slots
    std::size_t offset = 0;  ///< offset in that memory
    std::size_t bytes = 0;
  };
  struct Copy {
    std::size_t slots = 0;  ///< offset in the slots
    std::size_t staging = 0;
    std::size_t bytes = 0;
    bool adds = false;  ///< when landing: reduces instead of copying
  };
  std::vector<Copy> pack;  ///< from the slots to staging, before messages travel
  std::vector<Message> out;
  std::vector<Message> in;
  std::vector<Copy> land;  ///< from staging to the slots afterwards, in this order
};

struct Plan {
  std::vector<RoundPlan> rounds;  ///< only rounds in which the rank takes part
  std::size_t staging = 0;        ///< bytes
};

/// The complete work of `rank`. Two ranks exchange one message per round. Both ends omit empty
/// messages.
Plan plan_rounds(const collective::Schedule& schedule, const Layout& layout, Rank rank);

}  // namespace dlscale::backend
