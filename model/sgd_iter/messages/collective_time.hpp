#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "core/collective/algorithm.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/topology/single_level_rounds.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Time of a collective other than an all-reduce on the ranks of a placement, by the first that
/// applies:
///   measured on as many ranks and as many of them on a node: the fit, preferably after waiting as
///     in the schedule, else noted; not if it was measured across nodes and another link between
///     them was stated (Machine::inter_node_stated);
///   all-reduces by NCCL's own cost model: that model of this collective (NcclTimes);
///   a reduce-scatter or an all-gather: half of an all-reduce, of which each is one half around a
///     ring or by halving and doubling;
///   a reduce or a broadcast: the fastest closed form of core/collective among those that libraries
///     run between the ranks alone, over a link of α and β. They are those of the ring of an
///     all-reduce of the same size, if the start-up of the smallest message were that of all: with
///     T(m) of all-reduce and 4 B the smallest message
///       α = T(4 B) / (2 (p - 1)),  β = (T(m) - T(4 B)) / m · p / (2 (p - 1))
///     so knowledge of all-reduces, between nodes too, carries over. [D, derived: the ring's closed
///     form solved for its link] On several nodes, algorithms in which all ranks of a node send at
///     once share its way out in those rounds (SingleLevelRounds); a ring leaves a node by one
///     message. Wrong where the library's all-reduce is far from a ring, as in trees on many ranks.
/// All but the first are noted, with equal notes for every number of ranks. Messages follow one
/// another, so none shares its links with another.
class CollectiveTimes {
 public:
  /// `all_reduce` is of the same machine and placement. All arguments must outlive this.
  CollectiveTimes(const Machine& machine, const Placement& placement,
                  collective::Collective collective, Schedule schedule,
                  const MessageTimes& all_reduce, Notes& notes);
  /// Time of a message of `size` ≥ 4 B, as core/collective defines the message of the collective.
  [[nodiscard]] Estimate<Seconds> time(Bytes size) const;
  /// Source of that time. Requires ≥ 2 ranks.
  [[nodiscard]] TimeSource source(Bytes size) const;

 private:
  [[nodiscard]] Seconds by_link(Seconds smallest, Seconds all_reduce, Bytes size) const;
  [[nodiscard]] Seconds by(const collective::Algorithm& algorithm, const collective::Link& link,
                           Bytes size) const;
  [[nodiscard]] Estimate<Seconds> derived(Bytes size) const;

  Placement placement_;
  collective::Collective collective_;
  const MessageTimes* all_reduce_;
  Notes* notes_;
  const CollectiveFit* fit_ = nullptr;
  std::optional<NcclTimes> nccl_;
  bool over_other_link_ = false;  ///< measured, but not over the stated link
  /// By algorithm whose messages share the ways out of nodes, computed at first use.
  mutable std::map<const collective::Algorithm*, SingleLevelRounds> rounds_;
};

}  // namespace dlscale::model
