#include "model/parallel/pipeline/rounds.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "model/parallel/pipeline/simulator.hpp"

namespace dlscale::model {
namespace {

using parallel::Operation;
using parallel::OperationKind;
using parallel::Schedule;
using List = std::vector<Operation>;

bool is_later(const Operation& one, const Operation& other, int micro_batches) {
  Operation moved = one;
  const bool has_micro_batch =
      one.kind != OperationKind::reduce && one.kind != OperationKind::update;
  if (has_micro_batch) moved.micro_batch += micro_batches;
  return moved == other;
}

std::size_t common_operations(const List& one, const List& other) {
  return static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
}

/// Whether `more` goes on at `end` as `fewer` does a round before.
bool goes_on_alike(const List& fewer, const List& more, std::size_t end, int micro_batches) {
  const std::size_t length = more.size() - fewer.size();
  for (std::size_t at = end; at < more.size(); ++at) {
    if (!is_later(fewer[at - length], more[at], micro_batches)) return false;
  }
  return true;
}

/// Rounds before `end`: of the last one, and of those before it that are like it.
int rounds_before(const List& list, std::size_t end, std::size_t length, int micro_batches) {
  std::size_t alike = end;  // all from here on are as a round before
  while (alike > length && is_later(list[alike - 1 - length], list[alike - 1], micro_batches)) {
    --alike;
  }
  return static_cast<int>((end - alike) / length) + 1;
}

/// Operations that ranks can do of those that both lists begin with.
std::vector<std::size_t> common_end(const Schedule& fewer, const Schedule& more) {
  std::vector<std::size_t> ends;
  for (std::size_t rank = 0; rank < fewer.ranks.size(); ++rank) {
    ends.push_back(common_operations(fewer.ranks[rank], more.ranks[rank]));
  }
  const auto parts = static_cast<std::size_t>(fewer.shape.parts());
  const std::vector<Seconds> nothing(parts);
  PipelineSimulator order(fewer, {.forward = nothing, .backward = nothing});
  (void)order.run_to(ends);
  return order.done();
}

/// Adds messages that are sent before the end of the last round, and received behind it.
void add_messages_under_way(const Schedule& schedule, Rounds& rounds) {
  const std::vector<std::size_t>& ends = rounds.end;
  constexpr auto nobody = static_cast<std::size_t>(-1);
  const auto parts = static_cast<std::size_t>(schedule.shape.parts());
  const auto pieces = parts * static_cast<std::size_t>(schedule.shape.micro_batches);
  std::vector<std::size_t> receivers(2 * pieces, nobody);
  for (const bool is_sent : {true, false}) {
    for (std::size_t rank = 0; rank < ends.size(); ++rank) {
      for (std::size_t at = 0; at < ends[rank]; ++at) {
        const Operation& one = schedule.ranks[rank][at];
        if (!parallel::is_message(one.kind) || parallel::is_send(one.kind) != is_sent) continue;
        const bool is_gradient =
            one.kind == OperationKind::send_gradient || one.kind == OperationKind::receive_gradient;
        const auto part = static_cast<std::size_t>(one.part);
        const std::size_t reader = !is_sent ? part : is_gradient ? part - 1 : part + 1;
        receivers[message_place(parts, one, reader, is_gradient)] =
            is_sent ? static_cast<std::size_t>(one.peer) : nobody;
      }
    }
  }
  for (std::size_t place = 0; place < receivers.size(); ++place) {
    if (receivers[place] == nobody) continue;
    rounds.under_way.push_back(place);
    rounds.receivers.push_back(receivers[place]);
  }
}

}  // namespace

std::vector<std::size_t> Rounds::ends_at(int number) const {
  std::vector<std::size_t> ends = end;
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    ends[rank] -= static_cast<std::size_t>(count - number) * length[rank];
  }
  return ends;
}

std::vector<std::size_t> Rounds::under_way_at(int number, int parts) const {
  const int before = (count - number) * micro_batches;
  std::vector<std::size_t> places = under_way;
  for (std::size_t& place : places) place -= 2 * static_cast<std::size_t>(parts * before);
  return places;
}

std::optional<Rounds> rounds_of(const Schedule& fewer, const Schedule& more) {
  EXPECT(fewer.ranks.size() == more.ranks.size());
  EXPECT(fewer.shape.micro_batches < more.shape.micro_batches);
  Rounds rounds;
  rounds.micro_batches = more.shape.micro_batches - fewer.shape.micro_batches;
  rounds.end = common_end(fewer, more);
  rounds.count = fewer.shape.micro_batches;
  for (std::size_t rank = 0; rank < rounds.end.size(); ++rank) {
    const List& list = fewer.ranks[rank];
    const std::size_t end = rounds.end[rank];
    const std::size_t length = more.ranks[rank].size() - list.size();
    if (end < length || !goes_on_alike(list, more.ranks[rank], end, rounds.micro_batches)) {
      return std::nullopt;
    }
    rounds.length.push_back(length);
    rounds.count = std::min(rounds.count, rounds_before(list, end, length, rounds.micro_batches));
  }
  add_messages_under_way(fewer, rounds);
  return rounds;
}

}  // namespace dlscale::model
