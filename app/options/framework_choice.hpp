#pragma once
#include <string>
#include <vector>

#include "app/options/training_options.hpp"
#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/run/framework_file.hpp"
#include "core/run/run.hpp"

namespace dlscale::app {

/// The values that a command was given, and the system that they are for. A framework's profile
/// fills in the rest.
struct FrameworkQuestion {
  TrainingValues typed = {};
  bool sizes_of_buckets = false;  ///< whether another option than --bucket sets bucket sizes
  std::vector<Schedule> usual_schedules;  ///< schedules if neither command nor profile names any
  const Cluster* cluster = nullptr;
  bool fitted = false;   ///< whether messages were measured on that cluster
  Bytes gradients = {};  ///< bytes of all gradients of the network
};

/// The values of a profile that the command was not given. The notes say what it set, which typed
/// options replace its values, and what the model does not cover.
struct FrameworkChoice {
  TrainingValues values;
  std::vector<std::string> notes;
};

/// Translates a profile into values. Throws ConfigError if the model has nothing like the
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
///   callers           --server-clients, if servers are called
///   input_copy        --input-copy of GPUs: pinned memory is copied ahead, pageable memory is not,
///                     as a copy from it waits for the host  [CUDA C++ Programming Guide,
///                     asynchronous concurrent execution; not checked]
///   launch            --launch: recorded is a graph; the others are eager
///   compute           how kernels of data sheets compute; no option says it
///   negotiation       the votes of horovod and priority; a note for other schedules
///   update_on         a note with servers: whose update the model counts
FrameworkChoice framework_choice(const FrameworkProfile& profile,
                                 const FrameworkQuestion& question);

}  // namespace dlscale::app
