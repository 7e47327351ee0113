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
#include "model/sgd_iter/evidence/time_source.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/messages/nccl_times.hpp"
#include "model/topology/flat_rounds.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// How long a collective other than an all-reduce takes on the ranks of a placement.
///   measured on as many ranks and as many of them on a node: the fit, after ranks met as those of
///     the schedule do where that was measured, which is noted where it was not; but not where it
///     was measured across nodes and another link between them was stated
///     (Machine::inter_node_stated);
///   where all-reduces are what NCCL's own cost model says, what it says of this collective
///     (NcclTimes);
///   a reduce-scatter or an all-gather else: half of an all-reduce, of which, around a ring or by
///     halving and doubling, each is one half (MODEL 2.4);
///   a reduce or a broadcast else: the closed form of the algorithm of core/collective that takes
///     least, among those that libraries run between the ranks alone, over a link of α and β. These
///     are what the ring of an all-reduce of the same size would have, were the start-up of the
///     smallest message that of all: with T(m) of all-reduce and 4 B the smallest message
///       α = T(4 B) / (2 (p - 1)),  β = (T(m) - T(4 B)) / m · p / (2 (p - 1))
///     so what an all-reduce is known to take, between nodes too, is known of these. [D, derived:
///     the ring's closed form solved for its link] On several nodes an algorithm in which all ranks
///     of a node send at once has them share its way out, which a ring leaves by one message, in
///     the rounds in which they do (FlatRounds). Wrong where the library's all-reduce is far from a
///     ring, as in trees on many ranks.
/// All but the first are noted, what is derived alike for every number of ranks. Messages follow
/// one another, so none shares its links with another.
class CollectiveTimes {
 public:
  /// `all_reduce` is of the same machine and placement. All arguments must outlive this.
  CollectiveTimes(const Machine& machine, const Placement& placement,
                  collective::Collective collective, Schedule schedule,
                  const MessageTimes& all_reduce, Notes& notes);
  /// Of a message of `size` ≥ 4 B, as core/collective defines the message of the collective.
  [[nodiscard]] Estimate<Seconds> time(Bytes size) const;
  /// Where that time comes from. Requires ≥ 2 ranks.
  [[nodiscard]] TimeSource source(Bytes size) const;

 private:
  [[nodiscard]] Seconds by_link(Seconds smallest, Seconds all_reduce, Bytes size) const;
  [[nodiscard]] Seconds by(const collective::Algorithm& algorithm, const collective::Link& link,
                           Bytes size) const;
  [[nodiscard]] std::string not_measured() const;
  [[nodiscard]] Estimate<Seconds> derived(Bytes size) const;

  Placement placement_;
  collective::Collective collective_;
  const MessageTimes* all_reduce_;
  Notes* notes_;
  const CollectiveFit* fit_ = nullptr;
  std::optional<NcclTimes> nccl_;
  bool over_other_link_ = false;  ///< it was measured, but not over the link that was stated
  /// Of algorithms whose messages share the ways out of nodes, once they are asked for.
  mutable std::map<const collective::Algorithm*, FlatRounds> rounds_;
};

}  // namespace dlscale::model
