#include "backend/comm/schedule/schedule.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "backend/comm/schedule/layout.hpp"
#include "backend/comm/schedule/plan.hpp"
#include "core/collective/contract.hpp"
#include "core/error.hpp"

namespace dlscale::backend {
namespace {

using collective::Schedule;
using collective::Slots;
using collective::Transfer;

/// Only messages of the schedule are under way while it is carried out.
constexpr int tag = 1;

void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
  if (bytes > 0 && from != to) std::memcpy(to, from, bytes);
}

class ScheduledCollective : public PreparedCollective {
 public:
  ScheduledCollective(Communicator& ranks, const Schedule& schedule, const CollectiveCall& call)
      : ranks_(&ranks),
        call_(call),
        layout_(schedule, call.collective, message_of(call), size_of(call.type)),
        input_(input(call.collective, schedule, call.root, ranks.rank())),
        output_(output(call.collective, schedule, call.root, ranks.rank())) {
    const Plan plan = plan_rounds(schedule, layout_, ranks.rank());
    if (!works_in_result()) own_.resize(layout_.size());
    slots_ = works_in_result() ? call.to : std::span(own_);
    staging_.resize(plan.staging);
    for (const RoundPlan& round : plan.rounds) rounds_.push_back(messages_of(round));
  }

  void start() override {
    take_input();
    for (const Messages& round : rounds_) carry_out(round);
    give_output();
  }
  void wait() override {}

 private:
  /// A round with the addresses of its messages.
  struct Messages {
    std::vector<RoundPlan::Copy> pack;
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    std::vector<RoundPlan::Copy> land;
  };

  /// Whether the slots are the memory of the result: where that is the whole message on each rank.
  [[nodiscard]] bool works_in_result() const {
    return layout_.is_message() && call_.collective != Collective::reduce &&
           call_.collective != Collective::reduce_scatter;
  }

  [[nodiscard]] std::span<std::byte> memory(const RoundPlan::Message& message) {
    const std::span<std::byte> whole = message.staged ? std::span(staging_) : slots_;
    return whole.subspan(message.offset, message.bytes);
  }

  Messages messages_of(const RoundPlan& round) {
    Messages messages{round.pack, {}, {}, round.land};
    for (const auto& message : round.out) {
      messages.out.push_back({memory(message), message.peer, tag});
    }
    for (const auto& message : round.in) {
      messages.in.push_back({memory(message), message.peer, tag});
    }
    return messages;
  }

  void carry_out(const Messages& round) {
    for (const auto& copy : round.pack) {
      copy_bytes(slots_.data() + copy.slots, staging_.data() + copy.staging, copy.bytes);
    }
    if (!round.out.empty() || !round.in.empty()) ranks_->exchange(round.out, round.in);
    for (const auto& copy : round.land) {
      const std::span<std::byte> to = slots_.subspan(copy.slots, copy.bytes);
      const std::span<std::byte> from = std::span(staging_).subspan(copy.staging, copy.bytes);
      if (copy.adds) {
        combine(call_.type, call_.op, from, to);
      } else {
        copy_bytes(from.data(), to.data(), copy.bytes);
      }
    }
  }

  /// Calls use(offset in the slots, offset in a side of the call, bytes) for the blocks that such
  /// slots hold. A side begins with the first of them.
  template <class Use>
  void for_each_block(const Slots& slots, Use use) const {
    const int step = layout_.slots_of_block();
    std::size_t side = 0;
    for (int slot = 0; slot < slots.count; slot += step) {
      use(layout_.offset(slots.first + slot), side, layout_.block_bytes());
      side += layout_.block_bytes();
    }
  }

  void take_input() {
    const std::byte* from =
        call_.collective == Collective::broadcast ? call_.to.data() : call_.from.data();
    for_each_block(input_, [&](std::size_t slot, std::size_t side, std::size_t bytes) {
      copy_bytes(from + side, slots_.data() + slot, bytes);
    });
  }

  void give_output() {
    for_each_block(output_, [&](std::size_t slot, std::size_t side, std::size_t bytes) {
      copy_bytes(slots_.data() + slot, call_.to.data() + side, bytes);
    });
  }

  Communicator* ranks_;
  CollectiveCall call_;
  Layout layout_;
  Slots input_;
  Slots output_;
  std::vector<std::byte> own_;
  std::vector<std::byte> staging_;
  std::span<std::byte> slots_;
  std::vector<Messages> rounds_;
};

}  // namespace

std::unique_ptr<PreparedCollective> prepare_schedule(Communicator& ranks, const Schedule& schedule,
                                                     const CollectiveCall& call) {
  expect_well_made(call, ranks.rank(), ranks.size());
  EXPECT(schedule.ranks == ranks.size());
  if (schedule.helpers > 0) {
    throw Unsupported(
        fmt::format("This algorithm needs {} nodes beside the {} ranks, as servers or switches, "
                    "and there are none. Use one among the ranks alone.",
                    schedule.helpers, schedule.ranks));
  }
  ranks.exchange({}, {});  // or it says that it cannot
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
