#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"
#include "model/fits/piecewise.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"
#include "model/sgd_iter/messages/collective_time.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/scaling/cluster_facts.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Bytes of a bucket's gradients, which are f32 whatever the precision of the layers.
Bytes message_size(const Bucket& bucket);

/// The messages of an iteration of a run on ≥ 2 ranks, in the order in which backward makes them
/// ready. They are gradient_buckets(), which a merged schedule merges as in the engine (merge_for()
/// of core/network/merge.hpp). It uses predicted instead of measured times of kernels and messages.
/// horovod and priority merge and cut them later. Where layers are merged or cut, notes the number
/// of messages and the largest.
std::vector<Bucket> planned_messages(const Network& network, const Run& run,
                                     const KernelTimes& kernels, const MessageTimes& messages,
                                     Notes& notes);

/// Whether ranks, or processes of their nodes, call servers in a run.
bool calls_servers(const Run& run);

/// Bytes sent for each byte of the gradients where every caller exchanges its share with every
/// server: it pushes the server's part, and pulls it. Each value is of one direction; the other is
/// equal.
struct ServerTraffic {
  double from_caller = 0;  ///< of the busiest caller, to servers other than itself
  double to_server = 0;    ///< into the server that owns most, from all other callers
  double in_call = 0;      ///< between a caller and the server that owns most
  double out_of_node = 0;  ///< over the busiest node's link, in its busier direction
  double within_node = 0;  ///< of the busiest rank or server, within its node
};

/// The servers are those of most_servers(): ranks, or nodes, 0 … servers - 1. `imbalance`, from 1
/// to the number of servers, is the part of the server that owns most over an even share. It is
/// server 0; the others share the rest evenly. Every server gets its share of the traffic: true for
/// the sum of many messages, and wrong for a single one that belongs to one server.
///   ranks          a rank that is a server sends nothing to itself
///   nodes          a process of each node packs everything, because a server on its node is
///                  another process; traffic between both uses no link
///   several_nodes  likewise; on one node nothing is sent
ServerTraffic server_traffic(const Placement& placement, Callers callers, int servers,
                             double imbalance);

/// Time per byte to pack into remote procedure calls and unpack, beside the links: β_ser.
/// Requires a transport by calls.
Estimate<SecondsPerByte> serialisation(Transport transport);

/// Time to push a message to its servers, or to pull it, with β_net + β_ser,
///   t(m) = t_copy(m) + 2 α + m (max{ from_caller, to_server } β_ser
///                               + max{ out_of_node β_between, within_node β_within })
/// because a call is a request and an answer. [D: a process packs and unpacks one call after the
/// other; its links are full duplex and evenly shared.] Concurrent calls in a process are also
/// published (2.6 GB/s of one to 8 servers, TensorFlow issue 6116): the low end of the interval
/// assumes that all are concurrent, in_call β_ser.
/// t_copy is between a device and its host, where calls carry host memory, or a process of a node
/// adds there. It is the time of a batch of m bytes, for all ranks of a node at once, each over its
/// own link. Wrong where devices share a link, and by the time of the addition.
class ServerCalls {
 public:
  /// Requires a run on ≥ 2 ranks with a transport by calls. Throws ConfigError if the machine lacks
  /// a link that is used. Notes assumptions; `machine` must outlive this.
  ServerCalls(const Machine& machine, const Run& run, double imbalance, Notes& notes);
  [[nodiscard]] Estimate<Seconds> time(Bytes size) const;
  [[nodiscard]] TimeSource source() const;

 private:
  void note_calls(const Run& run, Notes& notes) const;

  Transport transport_;
  ServerTraffic traffic_;
  std::optional<LinkEstimate> within_;   ///< where ranks of a node exchange messages
  std::optional<LinkEstimate> between_;  ///< where nodes exchange messages
  const Piecewise* copy_ = nullptr;      ///< between a device and its host
  bool fitted_ = false;                  ///< whether that was measured
};

/// Gradients, f32, of the trained tensors in the order in which programs create them: first layer
/// first, for each its weights, then its bias (of batch norm scale, then shift). It excludes moving
/// averages and step counts: where a program gives those to servers by the same rule, their turns
/// and places are missing here.
std::vector<Bytes> parameter_tensors(const Network& network);

/// The parts of a message that travel separately, one after the other: the message, or each tensor
/// where the rule distributes tensors. MXNet's slices of a tensor count once: they leave at the
/// same time, carry the same bytes over the same links, and hide each other's start-ups.
std::vector<Bytes> sent_apart(const Network& network, const Bucket& message, Sharding sharding);

/// Bytes of each server of a run with these messages (shard_owners(),
/// core/collective/selection/parameter_servers.hpp).
std::vector<Bytes> owned_by_servers(const Network& network, std::span<const Bucket> messages,
                                    const Run& run);

/// Bytes of the server that owns most, for whose update all wait.
Bytes most_owned(const Network& network, std::span<const Bucket> messages, const Run& run);

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
  ///     [each part α + δβ, non-pre-emptive]
  ///   parameter_server: tensors that the rule of its servers keeps apart also follow one another
  ///     (sent_apart()). Uneven ownership affects only the update, as in the engine, which carries
  ///     one message at a time. With calls (ServerCalls), which go to all servers at once, it also
  ///     affects the messages. By data sheets, pushes and pulls take their share of
  ///     sheet_servers() before the update, of all parameters on each rank.
  [[nodiscard]] MessageCost cost(const Bucket& message) const;
  [[nodiscard]] TimeSource source(const Bucket& message) const;
  /// The exchange by data sheets that runs beside a whole iteration, in place of the messages.
  [[nodiscard]] std::optional<SheetServers> running() const;
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
  void note_sheets(Notes& notes) const;

  const Network* network_;
  const Run* run_;
  std::shared_ptr<const MessageTimes> all_reduce_;
  std::optional<SheetServers> by_sheets_;  ///< instead of calls and collectives
  std::optional<ServerCalls> calls_;       ///< instead of collectives
  std::optional<CollectiveTimes> first_;   ///< instead of an all-reduce
  std::optional<CollectiveTimes> second_;  ///< the gather
  std::vector<Bucket> messages_;
};

}  // namespace dlscale::model
