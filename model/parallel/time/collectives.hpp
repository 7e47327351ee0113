#pragma once
#include <optional>
#include <string_view>

#include "model/parallel/time/constants.hpp"

namespace dlscale::model::parallel_time {

/// Bus bandwidths of collectives of `bytes` that were measured on the cluster before, in bytes/s in
/// the convention of nccl-tests: over all GPUs and in one node.
struct LinkProbe {
  double bytes = 1;
  double all_reduce = 1;
  double all_gather = 1;
  double node_all_reduce = 1;
  double node_all_gather = 1;
};

/// Whether messages begin slowly on a kind of network: efa, slingshot, aries or ethernet-tcp, as
/// configs/links names them.
bool starts_slowly(std::string_view network_kind);

/// Links of a cluster by data sheets, or by a probe that is an input.
struct Links {
  double node_gpus = 8;        ///< G ≥ 1: GPUs of a node
  double gpus = 8;             ///< of the job, with which a probe was run
  double inside = 450e9;       ///< bytes/s of a GPU in a node, in one direction
  double network = 200e9;      ///< bytes/s of a node, in one direction
  bool starts_slowly = false;  ///< starts_slowly() of the network
  std::optional<LinkProbe> probe = {};
};

/// Ranks that lie `stride` apart in rank order.
struct Group {
  double ranks = 1;
  double stride = 1;
};

/// Times of collectives over n ranks on N nodes with r ranks each, of M bytes in all:
///   all-reduce   2 (n-1)/n M / B + 2a + [N > 1] 2 log2(N) α
///   all-gather   (n-1)/n M / B + a + [N > 1] min(n-1, ring_steps) α; as reduce-scatter
///   all-to-all   max((r-1)/n M / inside, far M / network a GPU) + a + [N > 1] log2(n) α
/// with a = node_start log2(r) / 3, α the network's start, and B the smaller of a GPU's share of
/// either link. A probe over w ranks gives B without its own start; on fewer nodes, the share
/// log N / log (w/G) of it and the rest of the data sheet. far is the share that leaves a node,
/// once a node in engines: (N-1)/N · N (1 - (1 - 1/N)^K) / K. [derived; starts and shares fitted]
class Collectives {
 public:
  Collectives(const TimeConstants& constants, const Links& links);
  [[nodiscard]] double all_reduce(const Group& group, double bytes) const;
  [[nodiscard]] double all_gather(const Group& group, double bytes) const;
  /// `active` experts of each token; `once`: a token goes to a node once.
  [[nodiscard]] double all_to_all(const Group& group, double bytes, double active, bool once) const;

  /// Bytes/s of a GPU to a neighbour: in its node, or through its share of the network.
  [[nodiscard]] double inside() const { return node_share_ * links_.inside; }
  [[nodiscard]] double across() const { return network_share_ * links_.network / links_.node_gpus; }
  [[nodiscard]] const Links& links() const { return links_; }

 private:
  struct Place {
    double in_node;
    double nodes;
  };
  [[nodiscard]] Place place(const Group& group) const;
  [[nodiscard]] double bandwidth(const Place& at, bool reduces) const;
  [[nodiscard]] double probed(const Place& at, bool reduces) const;
  [[nodiscard]] double node_start(const Place& at) const;

  Links links_;
  double node_share_;
  double network_share_;
  double node_start_;
  double network_start_;
  double ring_steps_;
  double probe_left_;
};

}  // namespace dlscale::model::parallel_time
