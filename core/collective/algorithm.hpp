#pragma once
#include <array>
#include <string_view>
#include <vector>

#include "core/base/family.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/collective/link.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::collective {

/// What the ranks do together, and what the message of m bytes is.
enum class Collective {
  all_reduce,      ///< m: the vector of each rank; all get the sum
  reduce,          ///< m: the vector of each rank; the root gets the sum
  broadcast,       ///< m: the vector of the root; all get it
  all_gather,      ///< m: all p blocks together, of which each rank has one and gets the others
  reduce_scatter,  ///< m: the vector of each rank; of the sum, each gets its one of p blocks
  all_to_all,      ///< m: the p blocks of each rank, one for each rank, itself included
};

inline constexpr std::array collectives{Collective::all_reduce,     Collective::reduce,
                                        Collective::broadcast,      Collective::all_gather,
                                        Collective::reduce_scatter, Collective::all_to_all};

/// As the enumerator is written: "all_reduce".
std::string_view to_string(Collective collective);

/// For whom a schedule is made. An algorithm reads p, root, and what its Traits say.
struct Settings {
  int p = 1;              ///< ranks, ≥ 1
  Rank root = 0;          ///< of a reduce or broadcast, 0 … p - 1
  int ranks_on_node = 1;  ///< ranks are numbered node by node; divides p where it is read
  int segments = 1;       ///< parts that follow one another through a pipeline, ≥ 1
  int servers = 1;        ///< parameter servers besides the ranks, ≥ 1
  int down_links = 2;     ///< of a switch that reduces, ≥ 2
};

/// How many messages leave a node in one round at most, with ranks numbered node by node: they
/// share its way out.
enum class Outflow { one, two, every_rank };
int flows(Outflow outflow, int ranks_on_node);

/// Which of the Settings besides p and root an algorithm reads.
struct Traits {
  bool segments = false;
  bool two_levels = false;  ///< ranks_on_node, and both Links; a flat algorithm reads Links::inter
  bool servers = false;
  bool switches = false;  ///< down_links
};

/// One way to carry out a collective, written once: `schedule` says who sends what when, `cost` is
/// the closed form of the same thing. A flat algorithm is priced as if all its messages took
/// Links::inter, so pass the slowest link they cross. Both are the caller's bug (EXPECT) for
/// Settings for which `obstacle` names one.
struct Algorithm {
  std::string_view name;  ///< unique among those of its collective
  std::string_view doc;
  Collective collective;
  Schedule (*schedule)(const Settings& settings);
  Seconds (*cost)(const Links& links, const Settings& settings, Bytes m);
  Outflow outflow;
  Traits traits = {};
  std::string_view inexact = {};  ///< why `cost` is a bound and not the time of `schedule`, if so
};

/// The algorithms of a collective, in the order of the family.
std::vector<const Algorithm*> algorithms_of(Collective collective);

/// The algorithm of that collective with that name, or nullptr.
const Algorithm* find(Collective collective, std::string_view name);

/// Why an algorithm cannot be set up so, as the rest of a sentence ("needs 1 segment or more");
/// empty if it can.
std::string_view obstacle(const Algorithm& algorithm, const Settings& settings);

}  // namespace dlscale::collective

namespace dlscale {
template <>
Family<collective::Algorithm> family<collective::Algorithm>();
}  // namespace dlscale
