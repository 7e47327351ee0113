#pragma once
#include <array>
#include <string_view>
#include <vector>

#include "core/base/family.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::collective {

/// The collective operations, and the meaning of their message size m in bytes.
enum class Collective {
  all_reduce,      ///< m: the vector of each rank; all get the sum
  reduce,          ///< m: the vector of each rank; the root gets the sum
  broadcast,       ///< m: the vector of the root; all get it
  all_gather,      ///< m: all p blocks together; each rank contributes one and gets the others
  reduce_scatter,  ///< m: the vector of each rank; each gets one of the p blocks of the sum
  all_to_all,      ///< m: the p blocks of each rank, one for each rank, itself included
};

inline constexpr std::array collectives{Collective::all_reduce,     Collective::reduce,
                                        Collective::broadcast,      Collective::all_gather,
                                        Collective::reduce_scatter, Collective::all_to_all};

/// The enumerator's name: "all_reduce".
std::string_view to_string(Collective collective);

/// Parameters of a schedule. An algorithm reads p, root, and the fields that its Traits name.
struct Settings {
  int p = 1;              ///< ranks, ≥ 1
  Rank root = 0;          ///< for reduce and broadcast, 0 … p - 1
  int ranks_on_node = 1;  ///< ranks are numbered node by node; divides p where it is used
  int segments = 1;       ///< parts that a pipeline sends one after another, ≥ 1
  int servers = 1;        ///< parameter servers besides the ranks, ≥ 1
  int down_links = 2;     ///< down links of a reducing switch, ≥ 2
};

/// Maximum number of messages that leave a node in one round, with ranks numbered node by node.
/// They share the node's uplink.
enum class Outflow { one, two, every_rank };
int flows(Outflow outflow, int ranks_on_node);

/// The Settings, besides p and root, that an algorithm reads.
struct Traits {
  bool segments = false;
  bool two_levels = false;  ///< ranks_on_node, and both Links; a flat algorithm reads Links::inter
  bool servers = false;
  bool switches = false;  ///< down_links
};

/// One algorithm of a collective. `schedule` gives all messages of all rounds, `cost` is the closed
/// form of its time. A flat algorithm is priced as if all its messages took Links::inter, so pass
/// the slowest link they cross. Calling either with Settings for which `obstacle` returns a reason
/// is a bug of the caller (EXPECT).
struct Algorithm {
  std::string_view name;  ///< unique within its collective
  std::string_view doc;
  Collective collective;
  Schedule (*schedule)(const Settings& settings);
  Seconds (*cost)(const Links& links, const Settings& settings, Bytes m);
  Outflow outflow;
  Traits traits = {};
  /// Why `cost` is a bound rather than the time of `schedule`; empty if it is exact.
  std::string_view inexact = {};
};

/// The algorithms of a collective, in the order of the family.
std::vector<const Algorithm*> algorithms_of(Collective collective);

/// The algorithm of that collective with that name, or nullptr.
const Algorithm* find(Collective collective, std::string_view name);

/// Why an algorithm does not support these settings, as the end of a sentence ("needs 1 segment or
/// more"); empty if it does.
std::string_view obstacle(const Algorithm& algorithm, const Settings& settings);

/// Precondition and postcondition of a schedule, for every algorithm of a collective. A block is
/// chunks / p slots; block i of a message is slots [i · chunks / p, (i + 1) · chunks / p).
///
///                   before                          after
///   all_reduce      each rank: its vector           each rank: the sum
///   reduce          each rank: its vector           the root: the sum
///   broadcast       the root: its vector            each rank: the root's vector
///   all_gather      rank r: its block, at block r   each rank: the block of rank i, at block i
///   reduce_scatter  each rank: its vector           rank r: block r of the sum, at block r
///   all_to_all      each rank: its p blocks         rank r: block r of rank i, at block i
///
/// Before: in slots [0, chunks). After: in slots [result, result + chunks). All other slots, and
/// those of helpers, may hold anything before and after; a schedule reads none of them before it
/// has written it.

/// Slots [first, first + count) of a buffer.
struct Slots {
  int first = 0;
  int count = 0;
};

/// The slots of `rank`'s input before the schedule; none for ranks without input.
Slots input(Collective collective, const Schedule& schedule, Rank root, Rank rank);

/// The slots of `rank`'s part of the result afterwards; none for ranks without a result.
Slots output(Collective collective, const Schedule& schedule, Rank root, Rank rank);

}  // namespace dlscale::collective

namespace dlscale {
template <>
Family<collective::Algorithm> family<collective::Algorithm>();
}  // namespace dlscale
