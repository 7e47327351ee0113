#include "backend/comm/schedule/plan.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

/// Whether slots are copied only onto slots that hold the same part of the message, there or in one
/// of several messages in scratch.
bool keeps_parts(const collective::Schedule& schedule) {
  const int chunks = schedule.chunks;
  if (chunks < 1 || schedule.result != 0 || schedule.scratch % chunks != 0) return false;
  return std::ranges::all_of(schedule.rounds, [&](const collective::Round& round) {
    return std::ranges::all_of(
        round, [&](const collective::Transfer& transfer) { return transfer.shift % chunks == 0; });
  });
}

using collective::Round;
using collective::Transfer;

/// A part of the slots' memory.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t size() const { return end - begin; }
};

bool overlap(const Range& a, const Range& b) {
  return a.begin < b.end && b.begin < a.end;
}

/// The transfers of one message, in the order of the round.
struct Bundle {
  Rank peer = 0;
  std::vector<const Transfer*> transfers;
};

class RoundPlanner {
 public:
  RoundPlanner(const Round& round, const SlotLayout& layout, Rank rank)
      : round_(&round), layout_(&layout), rank_(rank) {}

  RoundPlan plan() {
    for (const Bundle& bundle : bundles(&Transfer::from, &Transfer::to)) plan_out(bundle);
    std::vector<std::pair<const Transfer*, std::size_t>> staged;
    for (const Bundle& bundle : bundles(&Transfer::to, &Transfer::from)) plan_in(bundle, staged);
    for (const Transfer& transfer : *round_) {
      if (transfer.from == rank_ && transfer.to == rank_ && source(transfer).size() > 0) {
        staged.emplace_back(&transfer, pack(transfer));
      }
    }
    // Transfers are elements of one vector, so their addresses are in the order of the round.
    std::ranges::sort(staged);
    for (const auto& [transfer, place] : staged) land(*transfer, place);
    return std::move(plan_);
  }

  [[nodiscard]] std::size_t staging() const { return staging_; }

 private:
  [[nodiscard]] Range source(const Transfer& transfer) const {
    return {layout_->offset(transfer.first), layout_->offset(transfer.first + transfer.count)};
  }
  [[nodiscard]] Range target(const Transfer& transfer) const {
    const int first = transfer.first + transfer.shift;
    return {layout_->offset(first), layout_->offset(first + transfer.count)};
  }

  /// Messages between this rank, at its end `mine`, and each other rank.
  [[nodiscard]] std::vector<Bundle> bundles(Rank Transfer::*mine, Rank Transfer::*other) const {
    std::vector<Bundle> found;
    for (const Transfer& transfer : *round_) {
      const Rank peer = transfer.*other;
      if (transfer.*mine != rank_ || peer == rank_ || source(transfer).size() == 0) continue;
      auto bundle = std::ranges::find(found, peer, &Bundle::peer);
      if (bundle == found.end()) bundle = found.insert(found.end(), Bundle{peer, {}});
      bundle->transfers.push_back(&transfer);
    }
    return found;
  }

  std::size_t stage(std::size_t bytes) { return std::exchange(staging_, staging_ + bytes); }

  std::size_t pack(const Transfer& transfer) {
    const Range from = source(transfer);
    const std::size_t place = stage(from.size());
    plan_.pack.push_back({from.begin, place, from.size(), false});
    return place;
  }

  void plan_out(const Bundle& bundle) {
    if (bundle.transfers.size() == 1) {
      const Range from = source(*bundle.transfers.front());
      plan_.out.push_back({bundle.peer, false, from.begin, from.size()});
      return;
    }
    const std::size_t begin = staging_;
    for (const Transfer* transfer : bundle.transfers) pack(*transfer);
    plan_.out.push_back({bundle.peer, true, begin, staging_ - begin});
  }

  void plan_in(const Bundle& bundle, std::vector<std::pair<const Transfer*, std::size_t>>& staged) {
    if (bundle.transfers.size() == 1 && lands_directly(*bundle.transfers.front())) {
      const Range to = target(*bundle.transfers.front());
      plan_.in.push_back({bundle.peer, false, to.begin, to.size()});
      return;
    }
    const std::size_t begin = staging_;
    for (const Transfer* transfer : bundle.transfers) {
      staged.emplace_back(transfer, stage(source(*transfer).size()));
    }
    plan_.in.push_back({bundle.peer, true, begin, staging_ - begin});
  }

  /// Whether nothing else in the round accesses the destination.
  [[nodiscard]] bool lands_directly(const Transfer& transfer) const {
    if (transfer.action != Transfer::Action::copy) return false;
    return std::ranges::none_of(*round_, [&](const Transfer& other) {
      if (&other == &transfer) return false;
      return (other.from == rank_ && overlap(source(other), target(transfer))) ||
             (other.to == rank_ && overlap(target(other), target(transfer)));
    });
  }

  void land(const Transfer& transfer, std::size_t place) {
    const Range to = target(transfer);
    plan_.land.push_back({to.begin, place, to.size(), transfer.action == Transfer::Action::add});
  }

  const Round* round_;
  const SlotLayout* layout_;
  Rank rank_;
  RoundPlan plan_;
  std::size_t staging_ = 0;
};

bool is_idle(const RoundPlan& plan) {
  return plan.out.empty() && plan.in.empty() && plan.land.empty();
}

}  // namespace

SlotLayout::SlotLayout(const collective::Schedule& schedule, Collective collective,
                       std::size_t message, std::size_t element)
    : message_(message),
      element_(element),
      blocks_(in_blocks(collective) ? static_cast<std::size_t>(schedule.ranks) : 1),
      chunks_(schedule.chunks),
      slots_(schedule.chunks + schedule.scratch),
      are_cut_(keeps_parts(schedule)) {
  EXPECT(chunks_ >= 1 && chunks_ % static_cast<int>(blocks_) == 0);
  EXPECT(message % (element * blocks_) == 0);
}

std::size_t SlotLayout::offset(int slot) const {
  EXPECT(slot >= 0 && slot <= slots_);
  const auto index = static_cast<std::size_t>(slot);
  if (are_cut_) {
    const std::size_t elements = message_ / element_;
    const auto chunks = static_cast<std::size_t>(chunks_);
    return index / chunks * message_ + elements * (index % chunks) / chunks * element_;
  }
  const std::size_t elements = block_bytes() / element_;
  const auto parts = static_cast<std::size_t>(slots_of_block());
  return (elements + parts - 1) / parts * element_ * index;
}

Plan plan_rounds(const collective::Schedule& schedule, const SlotLayout& layout, Rank rank) {
  Plan plan;
  for (const Round& round : schedule.rounds) {
    RoundPlanner planner(round, layout, rank);
    RoundPlan of_round = planner.plan();
    plan.staging = std::max(plan.staging, planner.staging());
    if (!is_idle(of_round)) plan.rounds.push_back(std::move(of_round));
  }
  return plan;
}

}  // namespace dlscale::backend
