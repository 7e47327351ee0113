#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/run/framework_file.hpp"
#include "core/run/run.hpp"

namespace dlscale::app {

/// What a command says by hand, and of what, which a framework's profile is to fill up.
struct AskedByHand {
  /// Of --schedule; absent: it was not given.
  std::optional<std::vector<Schedule>> schedules = {};
  /// Of --synchronisation; absent: likewise.
  std::optional<std::vector<Synchronisation>> synchronisations = {};
  /// Of --transport; absent: likewise.
  std::optional<std::vector<Transport>> transports = {};
  bool sizes_of_buckets = false;  ///< by another option than --bucket
  /// Whether an option, such as "--cycle", was given.
  std::function<bool(std::string_view)> has;
  std::vector<Schedule> usual_schedules;  ///< where neither says any
  const Cluster* cluster = nullptr;
  bool fitted = false;   ///< whether messages were measured there
  Bytes gradients = {};  ///< of the network, all of them
};

/// What a profile makes of the options that were not given by hand: "--cycle" and "0.005 s". And
/// for people, in sentences: what it set, what a hand's options stand in place of, and what of it
/// the model cannot follow or does not know.
struct FrameworkChoice {
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::string> notes;
};

/// Throws ConfigError where the model knows nothing like the way that its gradients take, and no
/// other one was asked for by hand: it says what to ask for.
///   gradients         --synchronisation; reduce_broadcast: of one server
///   schedule, groups  --schedule; messages of all gradients: bucketed, in buckets that hold them
///   bucket, first_bucket, fusion_threshold, fusion_cycle, partition, credit
///                     the options that are called so, with a schedule that they have an effect on;
///                     of credit, in bytes, the parts that it holds
///   sharding          --sharding
///   in_node, between_nodes
///                     --all-reduce nccl where both are NCCL and data sheets tell its costs;
///                     of servers --transport grpc where it is between nodes
///   callers           --callers, where servers are called
///   input_copy        --input-copy of GPUs: pinned memory is copied ahead, pageable memory is not,
///                     as a copy from it waits for the host  [CUDA C++ Programming Guide,
///                     asynchronous concurrent execution; not checked]
///   launch            --launch: recorded is a graph; the others are eager
///   negotiation       of horovod and priority the votes that they have; else it is said
///   update_on         with servers it is said whose update the model counts
FrameworkChoice framework_choice(const FrameworkProfile& profile, const AskedByHand& asked);

}  // namespace dlscale::app
