#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/published/scaling/time/parameters.hpp"

namespace dlscale::model::scaling {

/// The costs of an all-reduce's messages before any overlap, each ≥ 0.
struct MessageCost {
  Seconds transfer = {};   ///< time of the bytes of all messages
  Seconds startup = {};    ///< start-up of each message on the link
  Seconds agreement = {};  ///< time of each message before that, among the hosts
};

/// Times of messages beside a backward pass.
struct ExposedMessages {
  Seconds exposed = {};  ///< from the end of backward to that of the last message, ≥ 0
  Seconds all = {};      ///< time of all messages, if all gradients were ready at once
};

/// Messages in the order of sending. The hosts agree on one after the other, each as soon as its
/// gradients are ready; then the link carries one after the other. t_b is the time of backward.
/// Message i of K is ready at ρ_i t_b and has the share m_i of the bytes:
///   d_i = max{ d_(i-1), ρ_i t_b } + agreement
///   f_i = max{ f_(i-1), d_i } + startup + m_i transfer
///   exposed = max{ f_K - t_b, 0 }
/// Without agreement that is wait_free_closed_form():
///   f_K = max over i of ρ_i t_b + Σ_{j≥i} (startup + m_j transfer)
/// [D, derived: a flow shop of hosts and link; equal to the task graph]
/// Wrong where messages slow computing down, for which the caller adds a share, and where messages
/// travel at the same time.
class MessageSchedule {
 public:
  /// Requires at least one message. Sizes are > 0, and `ready` is within [0, 1].
  explicit MessageSchedule(std::span<const ScalingMessage> messages);
  [[nodiscard]] std::size_t size() const { return messages_.size(); }
  /// Requires backward ≥ 0.
  [[nodiscard]] ExposedMessages beside(Seconds backward, const MessageCost& cost) const;

 private:
  struct Message {
    double ready;
    double share;
  };
  /// A message that may be the last to wait for its gradients. From it on, `share` of the bytes and
  /// `count` messages follow.
  struct Corner {
    double ready;
    double share;
    double count;
  };
  [[nodiscard]] double finish_without_agreement(double backward, const MessageCost& cost) const;

  std::vector<Message> messages_;
  std::vector<Corner> corners_;  ///< messages that can be the last to wait
};

/// The cost of one exchange of all gradients, before any overlap.
struct ExchangeCost {
  MessageCost messages = {};
  /// Whether kernels of the GPU do it, which compete with computing.
  bool on_gpu = true;
  /// Difference between sockets and RDMA, where it is not known which of them gradients take; ≥ 0.
  Seconds in_doubt = {};
};

/// The cost for ≥ 2 GPUs. For N GPUs on n nodes of k each, M bytes of gradients, and effective
/// bandwidths B₁ within and B of a node,
///   all-reduce      t₁ = 2 (N-1)/N M / B₁,  t = 2 (N-1)/N M / B
///                   transfer = t₁ on one node, else (t₁³ + t³)^(1/3)
///                   startup  = min{ ring 2 (n α + (N-n) α₁),  tree 4 lg n α + 4 (k-1) α₁ }
///   MPI over hosts  transfer = 2 (k-1)/k M / B₁ + 2 (n-1)/n M / (B / 2) + 2 M / B_host
///   servers         transfer = in_node + (if n > 1) s M i / (e_s B)
///                   i = ((n-1) m + M - m) / (2 (n-1)/n M), 1 if all servers keep m = M / n
///     host sum      in_node = 2 M / (e_s B_pcie)
///     ring          in_node = 2 (k-1)/k M / B₁
///     star          in_node = 2 (k-1) max{largest tensor, M / k} / (e_s B_host)
///   B               (line⁻³ + cards⁻³)^(-1/3), by TCP joined with B_tcp in the same way
///                   line = e_line B_nominal,  cards = e_card c max{15.75 GB/s, 1.26 B_nominal / c}
///
/// One flat ring over the slowest link is the limit. The third power joins two links
/// that the same bytes pass one after the other. It gives the slower one's time if one is much
/// slower, and 26 % more if they are alike, since neither can wait for the other's unevenness.
/// [derived; its power is a judgement]
///
/// - B₁: that of PCIe grows by a power of the nominal rate. Two GPUs of NVLink's cube mesh use a
///   third of it, four use two thirds. NCCL 1 has one ring, over one link of each GPU (a
///   communicator knows one order of the GPUs). [github.com/NVIDIA/nccl, src/core.h of 2016]
/// - B: whatever the network, c cards pass what their slots allow. 100 Gb/s is 0.79 of PCIe 3.0
///   x16, as 200 is of 4.0 and 400 of 5.0. TCP takes the same path through the few sockets that
///   libraries open, so that RDMA is never slower.
/// - Servers: each node pushes and pulls the sum of its gradients once, whatever the number of
///   nodes. BytePS on 10 Gb/s takes as long on 2 as on 8 nodes, although on 2 only half passes the
///   network: its processes are the limit. s is 1, or k where each GPU calls by itself. i compares
///   the busiest server with an even one. m follows the framework's rule, or is even if rule or
///   layers are not known.
/// - B of unknown transport: half of the gradients by sockets, half by RDMA.
/// - Host sum: each GPU copies M up and the sum down over its own link, even if it is alone.
/// - Star: one GPU collects a tensor from k-1 others and returns it, so that the largest tensor is
///   the limit. Copies without access between peers pass the host.
///
/// Wrong for fabrics that sum in the network, and for several cards that are not used alike.
ExchangeCost exchange_cost(const TrainingFacts& facts, const Layout& layout,
                           const Parameters& parameters);

/// Whether gradients pass between nodes by TCP, over whatever links.
bool over_tcp(const TrainingFacts& facts);

/// Whether sockets as well as RDMA may carry gradients between nodes, for all that is known.
bool may_use_sockets(const TrainingFacts& facts);

/// The bandwidths B₁ within a node, for the GPUs of `layout` on it, and B of a node.
BytesPerSecond within_node(const TrainingFacts& facts, const Layout& layout,
                           const Parameters& parameters);
BytesPerSecond between_nodes(const TrainingFacts& facts, const Parameters& parameters);

/// The bandwidth between a GPU and memory of the host.
BytesPerSecond to_host(const TrainingFacts& facts, const Parameters& parameters);

}  // namespace dlscale::model::scaling
