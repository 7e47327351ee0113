#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.hpp"

namespace dlscale {

/// A bucket of gradients is closed once it holds this many bytes. The first bucket of an iteration
/// closes early, so that communication starts soon. [PyTorch reducer.hpp: kDefaultFirstBucketBytes,
/// kDefaultBucketBytesCap]
inline constexpr Bytes first_bucket_limit{1024.0 * 1024};
inline constexpr Bytes bucket_limit{25 * 1024.0 * 1024};

/// Precision of activations and weights in a kernel. Master weights and gradients stay f32; sums
/// are always f32.
enum class DType {
  f32,
  tf32,  ///< f32 in memory; factors are rounded to 10 bits of mantissa
  bf16,
  f16,
};
inline constexpr std::array all_dtypes{DType::f32, DType::tf32, DType::bf16, DType::f16};
std::string_view dtype_name(DType dtype);
DType parse_dtype(std::string_view name);  ///< throws ConfigError
constexpr std::size_t element_bytes(DType dtype) {
  return dtype == DType::f32 || dtype == DType::tf32 ? 4 : 2;
}

/// Schedule of the gradient exchange.
enum class Schedule {
  sequential,  ///< all-reduce layer by layer after the whole backward pass
  wait_free,   ///< WFBP: a layer's gradient travels while earlier layers still compute
  bucketed,    ///< WFBP over buckets of 1 MiB, then 25 MiB
  /// WFBP over groups of layers, merged by the rule of MG-WFBP (core/network/merge.hpp).
  merged_greedy,
  /// WFBP over the groups of layers whose last message ends earliest (core/network/merge.hpp)
  merged,
  /// Tensor fusion as in Horovod: at every wake-up of a cycle, the gradients that are ready on all
  /// ranks are packed up to a threshold. The messages travel one after the other.
  horovod,
  /// As in DeAR, over the buckets of `bucketed`: reduce-scatters overlap backward. Their
  /// all-gathers overlap the next forward, first layers first, in which each layer waits for its
  /// own bucket.
  reduce_scatter_overlap,
  /// As in ByteScheduler: gradients are cut into parts, and ready parts of the first layers go
  /// first. Transfers overlap backward and the next forward, in which each layer waits for its own
  /// parts.
  priority,
};
inline constexpr std::array all_schedules{Schedule::sequential,
                                          Schedule::wait_free,
                                          Schedule::bucketed,
                                          Schedule::merged_greedy,
                                          Schedule::merged,
                                          Schedule::horovod,
                                          Schedule::reduce_scatter_overlap,
                                          Schedule::priority};
std::string_view schedule_name(Schedule schedule);
Schedule parse_schedule(std::string_view name);  ///< throws ConfigError
/// Whether messages still travel during the next forward pass, in which each layer waits for its
/// own messages and is updated then.
constexpr bool overlaps_next_forward(Schedule schedule) {
  return schedule == Schedule::reduce_scatter_overlap || schedule == Schedule::priority;
}
/// Whether layers are merged by the measured times of backward and of messages.
constexpr bool is_merged(Schedule schedule) {
  return schedule == Schedule::merged_greedy || schedule == Schedule::merged;
}
/// Whether messages are buckets, closed at a size.
constexpr bool has_buckets(Schedule schedule) {
  return schedule == Schedule::bucketed || schedule == Schedule::reduce_scatter_overlap;
}

/// How the ranks obtain the same parameters.
enum class Synchronisation {
  all_reduce,  ///< every rank gets the sum of all gradients and updates all parameters
  /// Parameters are sharded over ranks that also act as servers. A message is reduced to the rank
  /// that owns its parameters; once all have arrived, owners update their parameters and broadcast
  /// them.
  parameter_server,
};
inline constexpr std::array all_synchronisations{Synchronisation::all_reduce,
                                                 Synchronisation::parameter_server};
/// Whether a schedule works with a parameter server; the others order all-reduces.
constexpr bool goes_with_server(Schedule schedule) {
  return schedule == Schedule::sequential || schedule == Schedule::wait_free ||
         schedule == Schedule::bucketed;
}
std::string_view synchronisation_name(Synchronisation synchronisation);
Synchronisation parse_synchronisation(std::string_view name);  ///< throws ConfigError

/// Placement of parameters on servers. Framework rules place tensors: weights and bias of a layer
/// separately (core/collective/selection/parameter_servers.hpp cites the sources).
enum class Sharding {
  largest_first,  ///< whole messages, the largest first to the server with the fewest bytes
  /// MXNet's kvstore: a tensor below a million elements goes as a whole, by a hash of its number; a
  /// larger one is split equally among all servers.
  mxnet,
  tensorflow,         ///< replica_device_setter: tensors round-robin, whatever their size
  tensorflow_greedy,  ///< GreedyLoadBalancingStrategy: each to the server with the fewest bytes
};
inline constexpr std::array all_shardings{Sharding::largest_first, Sharding::mxnet,
                                          Sharding::tensorflow, Sharding::tensorflow_greedy};
/// Whether a rule can place the messages of a schedule: a bucket belongs to one server as a whole.
constexpr bool goes_with_sharding(Schedule schedule, Sharding sharding) {
  return sharding == Sharding::largest_first || schedule != Schedule::bucketed;
}
std::string_view sharding_name(Sharding sharding);
Sharding parse_sharding(std::string_view name);  ///< throws ConfigError

/// How ranks reach parameter servers. Training uses collectives; calls can be predicted.
enum class Transport {
  collectives,  ///< all ranks reduce each message to its owner, which broadcasts the result
  grpc,         ///< remote procedure calls of each rank to each server, which carry tensors
  grpc_rdma,    ///< likewise, with tensors beside them: TensorFlow's grpc+verbs, +gdr and +mpi
};
inline constexpr std::array all_transports{Transport::collectives, Transport::grpc,
                                           Transport::grpc_rdma};
std::string_view transport_name(Transport transport);
Transport parse_transport(std::string_view name);  ///< throws ConfigError

/// Processes that call parameter servers, if calls are used.
enum class Callers {
  ranks,  ///< each rank by itself; ranks are also servers
  /// One process per node. It sums the data of the node's ranks in its memory and distributes the
  /// results to them. Servers are separate processes, at most one per node, from node 0 on.
  nodes,
  /// As nodes; on a single node, its process keeps all parameters and does not call.
  several_nodes,
};
inline constexpr std::array all_callers{Callers::ranks, Callers::nodes, Callers::several_nodes};
constexpr bool goes_with_transport(Transport transport, Callers callers) {
  return transport != Transport::collectives || callers == Callers::ranks;
}
std::string_view callers_name(Callers callers);
Callers parse_callers(std::string_view name);  ///< throws ConfigError

/// Tuning parameters of some schedules; the others ignore them (core/run/schedule_settings.hpp).
struct ScheduleSettings {
  /// horovod: time between wake-ups, > 0, and maximum bytes packed into one message, ≥ 0 (a larger
  /// gradient travels alone). [Horovod 0.21 operations.cc: 1 ms, 128 MiB]
  Seconds cycle{1e-3};
  Bytes fusion_threshold{128.0 * 1024 * 1024};
  /// bucketed, reduce_scatter_overlap: sizes, ≥ 4 B, at which the first and the other buckets
  /// close.
  Bytes first_bucket = first_bucket_limit;
  Bytes bucket = bucket_limit;
  /// priority: maximum size of a part, ≥ 4 B [BytePS docs/env.md], and parts in flight, ≥ 1 [as
  /// ByteScheduler's credit of four of its partitions].
  Bytes partition{4'096'000};
  int credit = 4;
  /// parameter_server: ranks 0 … servers - 1 own parameters (nodes instead of ranks if the callers
  /// are nodes); 0: all do.
  int servers = 0;
  Sharding sharding = Sharding::largest_first;   ///< parameter_server: placement of parameters
  Transport transport = Transport::collectives;  ///< parameter_server: how ranks reach the servers
  Callers callers = Callers::ranks;  ///< callers of the servers; others than ranks need calls
  bool operator==(const ScheduleSettings&) const = default;
};

/// When an input batch is copied to device memory.
enum class InputCopy {
  on_path,  ///< at the start of its iteration
  ahead,    ///< during the previous iteration's computation
};
std::string_view input_copy_name(InputCopy copy);
InputCopy parse_input_copy(std::string_view name);  ///< throws ConfigError

/// Where a decoded image is normalised for the network: (value / 255 - mean) / deviation per
/// channel.
enum class Normalisation {
  host,    ///< by the loader threads; f32 travels to the device
  device,  ///< bytes travel to the device, a quarter of the size of f32
};
std::string_view normalisation_name(Normalisation normalisation);
Normalisation parse_normalisation(std::string_view name);  ///< throws ConfigError

/// How a host launches the work of an iteration on a device.
enum class Launch {
  eager,  ///< every kernel separately
  graph,  ///< recorded once and launched as a whole: CUDA graphs on NVIDIA GPUs
};
std::string_view launch_name(Launch launch);
Launch parse_launch(std::string_view name);  ///< throws ConfigError

/// Maximum number of images per rank and iteration; no memory holds more.
inline constexpr int most_images_per_rank = 65'536;

/// One training run: a network on a cluster. It holds everything on which a prediction and a
/// measurement must agree. Weak scaling: `batch` images per rank.
struct Run {
  std::string network;
  std::string cluster = "local";
  int ranks = 1;
  int ranks_per_node = 1;
  int batch = 8;  ///< images per rank and iteration, 1 … most_images_per_rank
  DType dtype = DType::f32;
  Schedule schedule = Schedule::wait_free;
  Synchronisation synchronisation = Synchronisation::all_reduce;
  ScheduleSettings settings = {};
  int cores_per_rank = 1;   ///< processor cores shared by the threads of a rank; CPU devices
  int compute_threads = 1;  ///< threads of the compute device; CPU devices
  int loader_threads = 1;
  int prefetch = 2;  ///< batches decoded ahead, ≥ 1
  /// Devices with their own memory copy ahead; processors cannot.
  InputCopy input_copy = InputCopy::on_path;
  Launch launch = Launch::eager;  ///< graph: only for devices that run asynchronously to the host
  Normalisation normalisation = Normalisation::host;
  bool fuse_relu = false;  ///< ReLUs are part of the layers before them
};

/// Number of nodes of a run; its ranks may fill the last one only in part.
int node_count(const Run& run);

/// Maximum and actual number of owners of parameters under Synchronisation::parameter_server, in
/// ranks or nodes.
int most_servers(const Run& run);
int server_count(const Run& run);

/// Throws ConfigError, which names the field, the value and the allowed values. A parameter server
/// works with the schedules sequential, wait_free and bucketed; rules that place tensors work with
/// the first two.
void check(const Run& run);

}  // namespace dlscale
