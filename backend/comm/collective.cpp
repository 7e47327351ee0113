#include "backend/comm/collective.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

constexpr std::array<std::string_view, modes.size()> mode_names{"blocking", "nonblocking",
                                                                "persistent"};

}  // namespace

std::string_view to_string(Mode mode) {
  return mode_names.at(static_cast<std::size_t>(mode));
}

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce ||
         collective == Collective::reduce_scatter;
}

bool in_blocks(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter ||
         collective == Collective::all_to_all;
}

Sides sides(Collective collective, std::size_t message, int ranks) {
  const auto p = static_cast<std::size_t>(ranks);
  EXPECT(!in_blocks(collective) || message % p == 0);
  switch (collective) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::all_to_all:
      return {message, message};
    case Collective::broadcast:
      return {0, message};
    case Collective::all_gather:
      return {message / p, message};
    case Collective::reduce_scatter:
      return {message, message / p};
  }
  fail_expectation("a known Collective");
}

bool is_in_place(const CollectiveCall& call, Rank rank) {
  if (call.collective == Collective::broadcast) return true;
  if (call.to.empty()) return call.from.empty();
  const bool gathers = call.collective == Collective::all_gather;
  const std::size_t own = gathers ? static_cast<std::size_t>(rank) * call.from.size() : 0;
  return call.from.data() == call.to.data() + own;
}

std::size_t message_of(const CollectiveCall& call) {
  const bool given = call.collective == Collective::all_reduce ||
                     call.collective == Collective::reduce ||
                     call.collective == Collective::reduce_scatter;
  return given ? call.from.size() : call.to.size();
}

void expect_well_made(const CollectiveCall& call, Rank rank, int ranks) {
  EXPECT(call.root >= 0 && call.root < ranks);
  EXPECT(message_of(call) % size_of(call.type) == 0);
  const Sides expected = sides(call.collective, message_of(call), ranks);
  const bool takes_nothing =
      call.collective == Collective::reduce && rank != call.root && call.to.empty();
  EXPECT(call.from.size() == expected.from);
  EXPECT(call.to.size() == expected.to || takes_nothing);
  EXPECT(expected.from % size_of(call.type) == 0 && expected.to % size_of(call.type) == 0);
}

std::string describe(const CollectiveCall& call, Mode mode, Rank rank) {
  return fmt::format("{} {} of {}{}{}", to_string(mode), to_string(call.collective),
                     to_string(call.type),
                     reduces(call.collective) ? fmt::format(" ({})", to_string(call.op)) : "",
                     is_in_place(call, rank) ? "" : " out of place");
}

}  // namespace dlscale::backend
