#include "core/collective/algorithm.hpp"

#include "core/base/error.hpp"

namespace dlscale::collective {
namespace {

Slots block(const Schedule& schedule, Rank rank) {
  EXPECT(schedule.chunks % schedule.ranks == 0);
  const int slots = schedule.chunks / schedule.ranks;
  return {rank * slots, slots};
}

}  // namespace

std::string_view to_string(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::reduce:
      return "reduce";
    case Collective::broadcast:
      return "broadcast";
    case Collective::all_gather:
      return "all_gather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::all_to_all:
      return "all_to_all";
  }
  fail_expectation("a collective");
}

int flows(Outflow outflow, int ranks_on_node) {
  switch (outflow) {
    case Outflow::one:
      return 1;
    case Outflow::two:
      return 2;
    case Outflow::every_rank:
      return ranks_on_node;
  }
  fail_expectation("an outflow");
}

std::vector<const Algorithm*> algorithms_of(Collective collective) {
  std::vector<const Algorithm*> algorithms;
  for (const Algorithm* algorithm : family<Algorithm>().members) {
    if (algorithm->collective == collective) algorithms.push_back(algorithm);
  }
  return algorithms;
}

const Algorithm* find(Collective collective, std::string_view name) {
  for (const Algorithm* algorithm : family<Algorithm>().members) {
    if (algorithm->collective == collective && algorithm->name == name) return algorithm;
  }
  return nullptr;
}

std::string_view obstacle(const Algorithm& algorithm, const Settings& settings) {
  const auto& [p, root, ranks_on_node, segments, servers, down_links] = settings;
  const Traits& reads = algorithm.traits;
  if (p < 1) return "needs 1 rank or more";
  if (root < 0 || root >= p) return "needs a root that is one of the ranks";
  if (reads.two_levels && (ranks_on_node < 1 || p % ranks_on_node != 0)) {
    return "needs as many ranks on each node";
  }
  if (reads.segments && segments < 1) return "needs 1 segment or more";
  if (reads.servers && servers < 1) return "needs 1 parameter server or more";
  if (reads.switches && down_links < 2) return "needs switches with 2 links downwards or more";
  return {};
}

Slots input(Collective collective, const Schedule& schedule, Rank root, Rank rank) {
  EXPECT(rank >= 0 && rank < schedule.ranks);
  if (collective == Collective::all_gather) return block(schedule, rank);
  if (collective == Collective::broadcast && rank != root) return {};
  return {0, schedule.chunks};
}

Slots output(Collective collective, const Schedule& schedule, Rank root, Rank rank) {
  EXPECT(rank >= 0 && rank < schedule.ranks);
  if (collective == Collective::reduce && rank != root) return {};
  if (collective != Collective::reduce_scatter) return {schedule.result, schedule.chunks};
  const auto [first, count] = block(schedule, rank);
  return {schedule.result + first, count};
}

}  // namespace dlscale::collective
