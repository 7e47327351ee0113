#include "backend/comm/schedule/schedule.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "backend/comm/schedule/rank_part.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

using collective::Schedule;
using collective::Transfer;

/// One tag suffices: only messages of the schedule are under way meanwhile.
constexpr int message_tag = 1;

class ScheduledCollective : public PreparedCollective {
 public:
  ScheduledCollective(Communicator& ranks, const Schedule& schedule, const CollectiveCall& call)
      : ranks_(&ranks), part_(schedule, call, ranks.rank(), message_tag) {}

  void start() override {
    part_.take_input();
    for (const RankPart::Round& round : part_.rounds()) {
      part_.pack(round);
      if (round.has_messages()) ranks_->exchange(round.out, round.in);
      part_.land(round);
    }
    part_.give_output();
  }
  void wait() override {}

 private:
  Communicator* ranks_;
  RankPart part_;
};

}  // namespace

void expect_made_for(const Communicator& ranks, const Schedule& schedule,
                     const CollectiveCall& call) {
  expect_well_made(call, ranks.rank(), ranks.size());
  EXPECT(schedule.ranks == ranks.size());
  if (schedule.helpers == 0) return;
  throw Unsupported(
      fmt::format("This algorithm needs {} nodes beside the {} ranks, as servers or switches, "
                  "and there are none. Use one among the ranks alone.",
                  schedule.helpers, schedule.ranks));
}

std::unique_ptr<PreparedCollective> prepare_schedule(Communicator& ranks, const Schedule& schedule,
                                                     const CollectiveCall& call) {
  expect_made_for(ranks, schedule, call);
  ranks.exchange({}, {});  // throws if this is not supported
  return std::make_unique<ScheduledCollective>(ranks, schedule, call);
}

Work busiest_rank(const Schedule& schedule, Bytes m, std::size_t element) {
  std::vector<double> sent(static_cast<std::size_t>(schedule.ranks + schedule.helpers));
  std::vector<double> received(sent.size());
  std::vector<double> reduced(sent.size());
  for (const collective::Round& round : schedule.rounds) {
    for (const Transfer& transfer : round) {
      const double bytes = m.si() * transfer.count / schedule.chunks;
      if (transfer.from != transfer.to) {
        sent[static_cast<std::size_t>(transfer.from)] += bytes;
        received[static_cast<std::size_t>(transfer.to)] += bytes;
      }
      if (transfer.action == Transfer::Action::add) {
        reduced[static_cast<std::size_t>(transfer.to)] += bytes;
      }
    }
  }
  const auto most = [&](const std::vector<double>& of_nodes) {
    return *std::max_element(of_nodes.begin(), of_nodes.begin() + schedule.ranks);
  };
  return {Flops(most(reduced) / static_cast<double>(element)),
          Bytes(std::max(most(sent), most(received)))};
}

}  // namespace dlscale::backend
