#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/evidence/time_source.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"
#include "model/sgd_iter/messages/collective_time.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/messages/server_traffic.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// What it takes to make of each rank's gradients of one message what all ranks go on with.
struct MessageCost {
  Bytes size;
  /// all_reduce: an all-reduce (horovod: by itself; priority: its first part);
  /// reduce_scatter_overlap: the reduce-scatter, and the all-reduce of what is no equal blocks;
  /// parameter_server: the reduce to its owner.
  Estimate<Seconds> time;
  std::vector<Estimate<Seconds>> pieces = {};  ///< priority: of the other parts
  /// reduce_scatter_overlap: the all-gather; parameter_server: the broadcast from its owner.
  std::optional<Estimate<Seconds>> gather = {};
  std::vector<LayerId> layers = {};  ///< whose gradients they are
  [[nodiscard]] Estimate<Seconds> total() const;
};

/// The messages of a run on ≥ 2 ranks and what they cost.
class ExchangeCosts {
 public:
  /// All arguments must outlive this, `notes` also all_reduce().
  ExchangeCosts(const Network& network, const Machine& machine, const Run& run,
                const KernelTimes& kernels, Notes& notes);
  /// In the order in which backward makes them ready: planned_messages().
  [[nodiscard]] const std::vector<Bucket>& messages() const { return messages_; }
  /// Of reduce_scatter_overlap, the elements that are no equal blocks take an all-reduce of their
  /// own: as many as a bucket's parameters leave, though gaps between tensors in memory may change
  /// that. A part of `priority` takes its all-reduce; the votes on which is next are none of its.
  /// Those under way at once (ScheduleSettings::credit) follow one another (Resource::window): they
  /// share the links, and the time of bytes on these is the same for all of them together, one
  /// after the other or at once. Wrong by what travelling at once hides of their start-ups, and in
  /// that links shared evenly let all of them arrive late in their time, where here the first does
  /// early. [MODEL 2.4: each part α + δβ, non-pre-emptive] Of parameter_server, what the rule of
  /// its servers keeps apart follows one another, too (sent_apart()); how evenly they own it counts
  /// in their update alone, as in the engine, which carries one message at a time; by calls
  /// (ServerCalls), to all servers at once, in the messages as well.
  [[nodiscard]] MessageCost cost(const Bucket& message) const;
  [[nodiscard]] TimeSource source(const Bucket& message) const;
  /// parameter_server: bytes that the server owns that owns most. All wait for it.
  [[nodiscard]] Bytes most_owned() const;
  [[nodiscard]] std::shared_ptr<const MessageTimes> all_reduce() const { return all_reduce_; }

 private:
  [[nodiscard]] MessageCost in_parts(const Bucket& message) const;
  [[nodiscard]] MessageCost in_blocks(const Bucket& message) const;
  [[nodiscard]] MessageCost by_servers(const Bucket& message) const;
  [[nodiscard]] std::int64_t no_equal_blocks(const Bucket& message) const;
  void note_parts(Notes& notes) const;
  void note_servers(Notes& notes) const;

  const Network* network_;
  const Run* run_;
  std::shared_ptr<const MessageTimes> all_reduce_;
  std::optional<ServerCalls> calls_;       ///< instead of collectives
  std::optional<CollectiveTimes> first_;   ///< instead of an all-reduce
  std::optional<CollectiveTimes> second_;  ///< the gather
  std::vector<Bucket> messages_;
};

}  // namespace dlscale::model
