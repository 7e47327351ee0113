#include "core/collective/rounds.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/collective/powers.hpp"

namespace dlscale::collective {
namespace {

int size_of(const Group& group) {
  EXPECT(!group.empty());
  return static_cast<int>(group.size());
}

/// Half of the span of a binomial tree over n members: 2^(⌈lg n⌉ - 1), or 0 for one member.
int first_distance(int n) {
  return n == 1 ? 0 : 1 << (ceiling_log2(n) - 1);
}

}  // namespace

Group everyone(int p, Rank first) {
  EXPECT(first >= 0 && first < p);
  Group group;
  for (int i = 0; i < p; ++i) group.push_back((first + i) % p);
  return group;
}

Rounds in_turn(Rounds first, const Rounds& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Rounds at_once(Rounds one, const Rounds& other) {
  one.resize(std::max(one.size(), other.size()));
  for (std::size_t i = 0; i < other.size(); ++i) {
    one[i].insert(one[i].end(), other[i].begin(), other[i].end());
  }
  return one;
}

Rounds backwards(const Rounds& rounds, Transfer::Action action) {
  Rounds result(rounds.rbegin(), rounds.rend());
  for (Round& round : result) {
    for (Transfer& transfer : round) {
      EXPECT(transfer.shift == 0);
      std::swap(transfer.from, transfer.to);
      transfer.action = action;
    }
  }
  return result;
}

Rounds binomial_broadcast(const Group& group, Slots slots) {
  const int n = size_of(group);
  Rounds rounds;
  for (int distance = first_distance(n); distance >= 1; distance /= 2) {
    Round round;
    for (int i = 0; i + distance < n; i += 2 * distance) {
      round.push_back(
          {group[i], group[i + distance], slots.first, slots.count, Transfer::Action::copy});
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

Rounds binomial_scatter(const Group& group) {
  const int n = size_of(group);
  Rounds rounds;
  for (int distance = first_distance(n); distance >= 1; distance /= 2) {
    Round round;
    for (int i = 0; i + distance < n; i += 2 * distance) {
      const int first = i + distance;
      const int count = std::min(distance, n - first);
      round.push_back({group[i], group[first], first, count, Transfer::Action::copy});
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

Rounds chain_broadcast(const Group& group, Slots slots) {
  const int n = size_of(group);
  Rounds rounds(static_cast<std::size_t>(chain_rounds(n, slots.count)));
  for (int i = 0; i + 1 < n; ++i) {
    for (int slot = 0; slot < slots.count; ++slot) {
      rounds[i + slot].push_back(
          {group[i], group[i + 1], slots.first + slot, 1, Transfer::Action::copy});
    }
  }
  return rounds;
}

int chain_rounds(int members, int slots) {
  EXPECT(members >= 1 && slots >= 1);
  return members == 1 ? 0 : members - 2 + slots;
}

Rounds ring_all_gather(const Group& group, Blocks blocks) {
  const int n = size_of(group);
  Rounds rounds;
  for (int s = 0; s < n - 1; ++s) {
    Round round;
    for (int i = 0; i < n; ++i) {
      const int block = (i - s + n) % n;  // the block received last
      round.push_back({group[i], group[(i + 1) % n], blocks.first + block * blocks.stride,
                       blocks.count, Transfer::Action::copy});
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

Rounds doubling_all_gather(const Group& group) {
  const int n = size_of(group);
  const PowerOfTwoGroup powers(n);
  const int pairs = powers.folded();
  // A member of the power-of-two group starts with its own slot, one of a pair with two.
  const auto first_slot = [&](int member) { return member <= pairs ? 2 * member : member + pairs; };
  Rounds rounds;
  for (int distance = 1; distance < powers.size(); distance *= 2) {
    Round round;
    for (int i = 0; i < powers.size(); ++i) {
      const int first = first_slot(i / distance * distance);
      const int end = first_slot(i / distance * distance + distance);
      round.push_back({group[powers.rank(i)], group[powers.rank(i ^ distance)], first, end - first,
                       Transfer::Action::copy});
    }
    rounds.push_back(std::move(round));
  }
  if (pairs == 0) return rounds;
  Round before;
  Round after;
  for (int pair = 0; pair < pairs; ++pair) {
    const int slot = 2 * pair;
    const Rank out = group[slot];
    const Rank in = group[slot + 1];
    before.push_back({out, in, slot, 1, Transfer::Action::copy});
    if (slot > 0) after.push_back({in, out, 0, slot, Transfer::Action::copy});
    after.push_back({in, out, slot + 1, n - slot - 1, Transfer::Action::copy});
  }
  return in_turn(in_turn({before}, rounds), {after});
}

int doubling_rounds(int members) {
  return floor_log2(members) + (largest_power_of_2(members) == members ? 0 : 2);
}

int doubling_slots(int members) {
  const int size = largest_power_of_2(members);
  const int pairs = members - size;
  if (pairs == 0) return members - 1;
  int slots = 1 + (members - 1);  // before and after
  for (int distance = 1; distance < size; distance *= 2) {
    slots += distance + std::min(distance, pairs);  // the lowest members have the pairs
  }
  return slots;
}

Nodes::Nodes(const Settings& settings)
    : ranks_on_node_(settings.ranks_on_node),
      count_(settings.p / std::max(1, settings.ranks_on_node)),
      root_(settings.root) {
  EXPECT(settings.p >= 1 && ranks_on_node_ >= 1 && settings.p % ranks_on_node_ == 0);
  EXPECT(root_ >= 0 && root_ < settings.p);
}

Rank Nodes::rank(int node, int place) const {
  const int root_node = root_ / ranks_on_node_;
  const int root_place = root_ % ranks_on_node_;
  return (root_node + node) % count_ * ranks_on_node_ + (root_place + place) % ranks_on_node_;
}

Group Nodes::node(int i) const {
  Group group;
  for (int place = 0; place < ranks_on_node_; ++place) group.push_back(rank(i, place));
  return group;
}

Group Nodes::place(int i) const {
  Group group;
  for (int node = 0; node < count_; ++node) group.push_back(rank(node, i));
  return group;
}

Rounds chains_within(const Nodes& nodes, Slots slots) {
  Rounds rounds;
  for (int node = 0; node < nodes.count(); ++node) {
    rounds = at_once(rounds, chain_broadcast(nodes.node(node), slots));
  }
  return rounds;
}

}  // namespace dlscale::collective
