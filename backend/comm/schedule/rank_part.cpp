#include "backend/comm/schedule/rank_part.hpp"

#include <cstring>

#include "backend/comm/elements.hpp"

namespace dlscale::backend {
namespace {

using collective::Schedule;
using collective::Slots;

void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
  if (bytes > 0 && from != to) std::memcpy(to, from, bytes);
}

}  // namespace

RankPart::RankPart(const Schedule& schedule, const CollectiveCall& call, Rank rank, int tag)
    : call_(call),
      layout_(schedule, call.collective, message_of(call), size_of(call.type)),
      input_(input(call.collective, schedule, call.root, rank)),
      output_(output(call.collective, schedule, call.root, rank)) {
  const Plan plan = plan_rounds(schedule, layout_, rank);
  if (!works_in_result()) own_.resize(layout_.size());
  slots_ = works_in_result() ? call.to : std::span(own_);
  staging_.resize(plan.staging);
  for (const RoundPlan& round : plan.rounds) rounds_.push_back(with_addresses(round, tag));
}

/// Whether the slots are the memory of the result: true if the result is the whole message on each
/// rank.
bool RankPart::works_in_result() const {
  return layout_.is_message() && call_.collective != Collective::reduce &&
         call_.collective != Collective::reduce_scatter;
}

std::span<std::byte> RankPart::memory(const RoundPlan::Message& message) {
  const std::span<std::byte> whole = message.staged ? std::span(staging_) : slots_;
  return whole.subspan(message.offset, message.bytes);
}

RankPart::Round RankPart::with_addresses(const RoundPlan& round, int tag) {
  Round result{round.pack, {}, {}, round.land};
  for (const auto& message : round.out) {
    result.out.push_back({memory(message), message.peer, tag});
  }
  for (const auto& message : round.in) {
    result.in.push_back({memory(message), message.peer, tag});
  }
  return result;
}

/// Calls use(offset in the slots, offset in a side of the call, bytes) for the blocks held by
/// `slots`. A side begins with the first of them.
template <class Use>
void RankPart::for_each_block(const Slots& slots, Use use) const {
  const int step = layout_.slots_of_block();
  std::size_t side = 0;
  for (int slot = 0; slot < slots.count; slot += step) {
    use(layout_.offset(slots.first + slot), side, layout_.block_bytes());
    side += layout_.block_bytes();
  }
}

void RankPart::take_input() {
  const std::byte* from =
      call_.collective == Collective::broadcast ? call_.to.data() : call_.from.data();
  for_each_block(input_, [&](std::size_t slot, std::size_t side, std::size_t bytes) {
    copy_bytes(from + side, slots_.data() + slot, bytes);
  });
}

void RankPart::pack(const Round& round) {
  for (const auto& copy : round.pack) {
    copy_bytes(slots_.data() + copy.slots, staging_.data() + copy.staging, copy.bytes);
  }
}

void RankPart::land(const Round& round) {
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

void RankPart::give_output() {
  for_each_block(output_, [&](std::size_t slot, std::size_t side, std::size_t bytes) {
    copy_bytes(slots_.data() + slot, call_.to.data() + side, bytes);
  });
}

}  // namespace dlscale::backend
