#pragma once
#include <gtest/gtest.h>

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "core/collective/algorithm.hpp"

namespace dlscale::collective::test {

/// The content of a slot before a schedule.
struct Source {
  Rank node = 0;
  int slot = 0;
  bool input = false;  ///< or whatever was there
  auto operator<=>(const Source&) const = default;
};

/// What a slot holds: how often each source was added up in it.
using Value = std::map<Source, int>;
using Buffers = std::vector<std::vector<Value>>;  // [node][slot]

inline int nodes(const Schedule& schedule) {
  return schedule.ranks + schedule.helpers;
}

inline Buffers before(Collective collective, const Schedule& schedule, const Settings& settings) {
  Buffers buffers(nodes(schedule), std::vector<Value>(schedule.chunks + schedule.scratch));
  for (Rank node = 0; node < nodes(schedule); ++node) {
    const Slots mine =
        node < schedule.ranks ? input(collective, schedule, settings.root, node) : Slots{};
    for (int slot = 0; slot < static_cast<int>(buffers[node].size()); ++slot) {
      const bool is_input = slot >= mine.first && slot < mine.first + mine.count;
      buffers[node][slot] = {{{node, slot, is_input}, 1}};
    }
  }
  return buffers;
}

inline bool is_known(const Value& value) {
  for (const auto& [source, count] : value) {
    if (!source.input) return false;
  }
  return true;
}

/// Runs a round: all transfers read what was there before it, and land in the order of the list.
/// Nothing unknown may be sent or added to.
inline void run(const Round& round, Buffers& buffers) {
  std::vector<std::vector<Value>> sent;
  for (const Transfer& t : round) {
    const auto from = buffers.at(t.from).begin() + t.first;
    sent.emplace_back(from, from + t.count);
  }
  for (std::size_t i = 0; i < round.size(); ++i) {
    const Transfer& t = round[i];
    for (int j = 0; j < t.count; ++j) {
      Value& value = buffers.at(t.to).at(t.first + t.shift + j);
      EXPECT_TRUE(is_known(sent[i][j]));
      if (t.action == Transfer::Action::copy) {
        value = sent[i][j];
        continue;
      }
      EXPECT_TRUE(is_known(value));
      for (const auto& [source, count] : sent[i][j]) value[source] += count;
    }
  }
}

/// What slot i of the message must be at a rank that has it in its result.
inline Value expected(Collective collective, const Schedule& schedule, Rank root, Rank rank,
                      int i) {
  const int block = schedule.chunks / schedule.ranks;
  switch (collective) {
    case Collective::broadcast:
      return {{{root, i, true}, 1}};
    case Collective::all_gather:
      return {{{i / block, i, true}, 1}};
    case Collective::all_to_all:
      return {{{i / block, rank * block + i % block, true}, 1}};
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
      break;
  }
  Value sum;
  for (Rank other = 0; other < schedule.ranks; ++other) sum[{other, i, true}] = 1;
  return sum;
}

/// Runs a schedule and says of each rank whether its result is right.
inline void expect_right_result(Collective collective, const Schedule& schedule,
                                const Settings& settings) {
  Buffers buffers = before(collective, schedule, settings);
  for (const Round& round : schedule.rounds) run(round, buffers);
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const auto [first, count] = output(collective, schedule, settings.root, rank);
    for (int slot = first; slot < first + count; ++slot) {
      const int i = slot - schedule.result;
      EXPECT_EQ(buffers[rank].at(slot), expected(collective, schedule, settings.root, rank, i))
          << "rank " << rank << ", slot " << slot;
    }
  }
}

/// Settings for p ranks that differ in all that the algorithm reads.
inline std::vector<Settings> settings_of(const Algorithm& algorithm, int p) {
  const Traits& reads = algorithm.traits;
  const bool rooted = algorithm.collective == Collective::reduce ||
                      algorithm.collective == Collective::broadcast || reads.two_levels;
  std::vector<Settings> all{Settings{.p = p}};
  const auto vary = [&all](bool varies, int Settings::*field, const std::vector<int>& values) {
    if (!varies) return;
    std::vector<Settings> more;
    for (const Settings& settings : all) {
      for (const int value : values) {
        more.push_back(settings);
        more.back().*field = value;
      }
    }
    all = more;
  };
  vary(rooted, &Settings::root, {0, p / 2, p - 1});
  vary(reads.two_levels, &Settings::ranks_on_node, {1, 2, 3, 4, p});
  vary(reads.segments, &Settings::segments, {1, 2, 5});
  vary(reads.servers, &Settings::servers, {1, 2, 3, 8});
  vary(reads.switches, &Settings::down_links, {2, 3, 8});
  std::erase_if(all, [&](const Settings& s) { return !obstacle(algorithm, s).empty(); });
  return all;
}

inline std::string text(const Settings& s) {
  return std::to_string(s.p) + " ranks, root " + std::to_string(s.root) + ", " +
         std::to_string(s.ranks_on_node) + " a node, " + std::to_string(s.segments) +
         " segments, " + std::to_string(s.servers) + " servers, " + std::to_string(s.down_links) +
         " links down";
}

/// What a test of one algorithm of the family is called.
inline std::string name_of(const testing::TestParamInfo<const Algorithm*>& algorithm) {
  return std::string(to_string(algorithm.param->collective)) + "_" +
         std::string(algorithm.param->name);
}

}  // namespace dlscale::collective::test
