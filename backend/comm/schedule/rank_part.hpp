#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "backend/comm/collective.hpp"
#include "backend/comm/schedule/plan.hpp"
#include "core/base/ids.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::backend {

/// One rank's part of a collective that follows a schedule, except sending and receiving. It holds
/// its memory, and its copies and reductions before and after each round. First take_input(); then
/// for each round pack(), its messages, land(); then give_output(). It can be repeated on the same
/// memory.
class RankPart {
 public:
  struct Round {
    std::vector<RoundPlan::Copy> pack;
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    std::vector<RoundPlan::Copy> land;
    [[nodiscard]] bool has_messages() const { return !out.empty() || !in.empty(); }
  };

  /// All messages have that tag. The call and the schedule must match each other and the rank.
  RankPart(const collective::Schedule& schedule, const CollectiveCall& call, Rank rank, int tag);
  ~RankPart() = default;
  RankPart(const RankPart&) = delete;  // rounds hold addresses of its memory
  RankPart& operator=(const RankPart&) = delete;

  [[nodiscard]] const std::vector<Round>& rounds() const { return rounds_; }
  void take_input();
  void pack(const Round& round);
  void land(const Round& round);
  void give_output();

 private:
  [[nodiscard]] bool works_in_result() const;
  [[nodiscard]] std::span<std::byte> memory(const RoundPlan::Message& message);
  [[nodiscard]] Round with_addresses(const RoundPlan& round, int tag);
  template <class Use>
  void for_each_block(const collective::Slots& slots, Use use) const;

  CollectiveCall call_;
  SlotLayout layout_;
  collective::Slots input_;
  collective::Slots output_;
  std::vector<std::byte> own_;
  std::vector<std::byte> staging_;
  std::span<std::byte> slots_;
  std::vector<Round> rounds_;
};

}  // namespace dlscale::backend
