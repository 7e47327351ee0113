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

/// Cost of reducing the gradients of one message over all ranks.
struct MessageCost {
  Bytes size;
  /// all_reduce: an all-reduce (horovod: by itself; priority: its first part).
  /// reduce_scatter_overlap: the reduce-scatter, and the all-reduce of the elements outside of
  /// equal blocks. parameter_server: the reduce to its owner.
  Estimate<Seconds> time;
  std::vector<Estimate<Seconds>> pieces = {};  ///< priority: the other parts
  /// reduce_scatter_overlap: the all-gather; parameter_server: the broadcast from its owner.
  std::optional<Estimate<Seconds>> gather = {};
  std::vector<LayerId> layers = {};  ///< the layers of its gradients
  [[nodiscard]] Estimate<Seconds> total() const;
};

/// The messages of a run on ≥ 2 ranks and what they cost.
class ExchangeCosts {
 public:
  /// All arguments must outlive this, `notes` also all_reduce().
  ExchangeCosts(const Network& network, const Machine& machine, const Run& run,
                const KernelTimes& kernels, Notes& notes);
  /// The messages in the order in which backward makes them ready: planned_messages().
  [[nodiscard]] const std::vector<Bucket>& messages() const { return messages_; }
  /// The cost of a message, by schedule:
  ///   reduce_scatter_overlap: the elements outside of equal blocks take an all-reduce of their
  ///     own. There are as many as a bucket's parameters leave; gaps between tensors in memory may
  ///     change that.
  ///   priority: a part takes its all-reduce; votes on the next part are separate. Concurrent parts
  ///     (ScheduleSettings::credit) follow one another (Resource::window): they share the links, so
  ///     the time of all their bytes is the same. Wrong by the start-ups that concurrency hides,
  ///     and because evenly shared links deliver all parts late, where here the first is early.
  ///     [MODEL 2.4: each part α + δβ, non-pre-emptive]
  ///   parameter_server: tensors that the rule of its servers keeps apart also follow one another
  ///     (sent_apart()). Uneven ownership affects only the update, as in the engine, which carries
  ///     one message at a time. With calls (ServerCalls), which go to all servers at once, it also
  ///     affects the messages.
  [[nodiscard]] MessageCost cost(const Bucket& message) const;
  [[nodiscard]] TimeSource source(const Bucket& message) const;
  /// parameter_server: bytes of the server that owns most, for which all wait.
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
