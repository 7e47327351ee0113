#include "model/parallel/branches/branch_messages.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

/// A group of ranks, as many on each node.
struct GroupPlace {
  int ranks;
  int on_node;
  int sharers;  ///< groups that leave a node at once
  int fabric;   ///< nodes among which the group's lie
};

/// Two links that the same bytes pass one after the other.
SecondsPerByte joined(SecondsPerByte a, SecondsPerByte b) {
  const double longer = std::max(a, b).si();
  const double ratio = std::min(a, b).si() / longer;
  return SecondsPerByte(longer * std::cbrt(1 + ratio * ratio * ratio));
}

MessageLine all_reduce(const Machine& machine, const GroupPlace& group, int ranks_per_node) {
  if (group.ranks == 1) return {};
  const int on_node = std::min(group.on_node, group.ranks);
  const Placement placement{group.ranks, on_node};
  const double around = 2.0 * (group.ranks - 1) / group.ranks;
  MessageLine line{sheet_messages(machine, placement).start, {}};
  if (on_node > 1) line.per_byte = around * sheet_link_within(machine, placement).per_byte;
  if (placement.nodes() == 1) return line;
  const Placement all{group.fabric * ranks_per_node, ranks_per_node};
  const SecondsPerByte out = around * group.sharers * sheet_link_between(machine, all).per_byte;
  line.per_byte = on_node > 1 ? joined(line.per_byte, out) : out;
  return line;
}

}  // namespace

std::vector<int> placements_of(int ranks, int ranks_per_node, int branches) {
  if (ranks <= ranks_per_node) return {branches};
  const int nodes = Placement{ranks, ranks_per_node}.nodes();
  std::vector<int> placements;
  for (int on_node = 1; on_node <= std::gcd(branches, ranks_per_node); ++on_node) {
    const bool fills_nodes = branches % on_node == 0 && ranks_per_node % on_node == 0;
    if (fills_nodes && nodes % (branches / on_node) == 0) placements.push_back(on_node);
  }
  return placements;
}

BranchMessages branch_messages(const Machine& machine, const BranchGrid& grid) {
  EXPECT(!machine.fitted && grid.branches >= 1 && grid.ranks % grid.branches == 0);
  const int nodes = Placement{grid.ranks, grid.ranks_per_node}.nodes();
  const int on_node = std::min(grid.ranks, grid.ranks_per_node);
  const int of_branch = nodes == 1 ? grid.copies() : on_node / grid.branches_on_node;
  const auto sharers = [&](int groups) { return grid.own_way_out ? 1 : groups; };
  BranchMessages messages;
  if (grid.ranks > 1) {
    const SheetMessages serial = sheet_messages(machine, {grid.ranks, grid.ranks_per_node});
    messages.serial = {serial.agreement + serial.start, serial.per_byte};
  }
  messages.copies =
      grid.branches == 1
          ? messages.serial
          : all_reduce(machine, {grid.copies(), of_branch, sharers(grid.branches_on_node), nodes},
                       grid.ranks_per_node);
  const MessageLine around =
      all_reduce(machine,
                 {grid.branches, grid.branches_on_node, sharers(on_node / grid.branches_on_node),
                  std::max(2, grid.branches / grid.branches_on_node)},
                 grid.ranks_per_node);
  messages.group = {0.5 * around.start, 0.5 * around.per_byte};
  return messages;
}

}  // namespace dlscale::model
