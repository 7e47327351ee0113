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

/// The options that a command was given explicitly, and the system that they are for. A framework's
/// profile fills in the rest.
struct AskedByHand {
  /// --schedule; absent: not given.
  std::optional<std::vector<Schedule>> schedules = {};
  /// --synchronisation; absent: not given.
  std::optional<std::vector<Synchronisation>> synchronisations = {};
  /// --transport; absent: not given.
  std::optional<std::vector<Transport>> transports = {};
  bool sizes_of_buckets = false;  ///< whether another option than --bucket sets bucket sizes
  /// Whether an option, such as "--cycle", was given.
  std::function<bool(std::string_view)> has;
  std::vector<Schedule> usual_schedules;  ///< schedules if neither command nor profile names any
  const Cluster* cluster = nullptr;
  bool fitted = false;   ///< whether messages were measured on that cluster
  Bytes gradients = {};  ///< bytes of all gradients of the network
};

/// The values that a profile gives to options that were not explicit: "--cycle" and "0.005 s". The
/// notes say what it set, which explicit options replace its values, and what the model does not
/// cover.
struct FrameworkChoice {
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::string> notes;
};

/// Translates a profile into options. Throws ConfigError if the model has nothing like the
/// profile's path of gradients and no other one was given explicitly; the error names alternatives.
///   gradients         --synchronisation; reduce_broadcast: of one server
///   schedule, groups  --schedule; messages of all gradients: bucketed, in buckets that hold them
///   bucket, first_bucket, fusion_threshold, fusion_cycle, partition, credit
///                     the options of those names, if the schedule uses them; credit in bytes
///                     becomes the number of parts that it holds
///   sharding          --sharding
///   in_node, between_nodes
///                     --all-reduce nccl if both are NCCL and data sheets give its costs;
///                     with servers --transport grpc if it is used between nodes
///   callers           --callers, if servers are called
///   input_copy        --input-copy of GPUs: pinned memory is copied ahead, pageable memory is not,
///                     as a copy from it waits for the host  [CUDA C++ Programming Guide,
///                     asynchronous concurrent execution; not checked]
///   launch            --launch: recorded is a graph; the others are eager
///   negotiation       the votes of horovod and priority; a note for other schedules
///   update_on         a note with servers: whose update the model counts
FrameworkChoice framework_choice(const FrameworkProfile& profile, const AskedByHand& asked);

}  // namespace dlscale::app
