#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "core/run/bucket_limits.hpp"

namespace dlscale {

/// Precision of activations and of weights in a kernel. Master weights and gradients stay f32; sums
/// are f32 always.
enum class DType {
  f32,
  tf32,  ///< f32 in memory; products of numbers rounded to 10 bits of mantissa
  bf16,
  f16,
};
inline constexpr std::array all_dtypes{DType::f32, DType::tf32, DType::bf16, DType::f16};
std::string_view dtype_name(DType dtype);
DType parse_dtype(std::string_view name);  ///< throws ConfigError
constexpr std::size_t element_bytes(DType dtype) {
  return dtype == DType::f32 || dtype == DType::tf32 ? 4 : 2;
}

/// When the gradients travel.
enum class Schedule {
  sequential,  ///< all-reduce layer by layer after the whole backward pass
  wait_free,   ///< WFBP: a layer's gradient travels while earlier layers still compute
  bucketed,    ///< WFBP over buckets of 1 MiB, then 25 MiB
  /// WFBP over groups of layers that are merged by the rule of MG-WFBP (core/network/merge.hpp).
  merged_greedy,
  merged,  ///< WFBP over the groups of layers whose last message ends earliest (core/network/merge.hpp)
  /// Tensor fusion as in Horovod: at every wake-up of a cycle, what is ready on all ranks travels,
  /// packed up to a threshold, one message after the other.
  horovod,
  /// As in DeAR: over the buckets of `bucketed`, reduce-scatters beside backward; their all-gathers
  /// beside the next forward, first layers first, in which each layer waits for its own bucket.
  reduce_scatter_overlap,
  /// As in ByteScheduler: gradients cut into parts, of what is ready those of the first layers
  /// first, beside backward and the next forward, in which each layer waits for its own parts.
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
/// Whether messages still travel while the next iteration computes forward, in which each layer
/// waits for its own and is updated then.
constexpr bool overlaps_next_forward(Schedule schedule) {
  return schedule == Schedule::reduce_scatter_overlap || schedule == Schedule::priority;
}
/// Whether layers are merged by what was measured of backward and of messages.
constexpr bool is_merged(Schedule schedule) {
  return schedule == Schedule::merged_greedy || schedule == Schedule::merged;
}
/// Whether messages are buckets, closed at a size.
constexpr bool has_buckets(Schedule schedule) {
  return schedule == Schedule::bucketed || schedule == Schedule::reduce_scatter_overlap;
}

/// How the ranks come to the same parameters.
enum class Synchronisation {
  all_reduce,  ///< every rank gets the sum of all gradients and updates all parameters
  /// Parameters are sharded over ranks that are servers, too. A message is reduced to the rank that
  /// owns its parameters; once all are there, owners update theirs, and broadcast them.
  parameter_server,
};
inline constexpr std::array all_synchronisations{Synchronisation::all_reduce,
                                                 Synchronisation::parameter_server};
/// Whether a schedule says how to reach a parameter server: the others order all-reduces.
constexpr bool goes_with_server(Schedule schedule) {
  return schedule == Schedule::sequential || schedule == Schedule::wait_free ||
         schedule == Schedule::bucketed;
}
std::string_view synchronisation_name(Synchronisation synchronisation);
Synchronisation parse_synchronisation(std::string_view name);  ///< throws ConfigError

/// Which parameter server owns what. The rules of frameworks give out tensors, weights and bias of
/// a layer apart (core/collective/selection/parameter_servers.hpp says where each is from).
enum class Sharding {
  largest_first,  ///< whole messages, the largest first to the server that owns least
  /// MXNet's kvstore: a tensor below a million elements as a whole by a hash of its number, a
  /// larger one in equal parts on all servers.
  mxnet,
  tensorflow,         ///< replica_device_setter: tensors in turn, whatever their size
  tensorflow_greedy,  ///< GreedyLoadBalancingStrategy: each to the server with the fewest bytes
};
inline constexpr std::array all_shardings{Sharding::largest_first, Sharding::mxnet,
                                          Sharding::tensorflow, Sharding::tensorflow_greedy};
/// Whether a rule can give out what a schedule sends: buckets belong to one server as a whole.
constexpr bool goes_with_sharding(Schedule schedule, Sharding sharding) {
  return sharding == Sharding::largest_first || schedule != Schedule::bucketed;
}
std::string_view sharding_name(Sharding sharding);
Sharding parse_sharding(std::string_view name);  ///< throws ConfigError

/// How ranks reach parameter servers. Training takes collectives; calls can be predicted.
enum class Transport {
  collectives,  ///< each message is reduced to its owner by all ranks, and broadcast from it
  grpc,         ///< remote procedure calls of each rank to each server, which carry tensors
  grpc_rdma,    ///< likewise, with tensors beside them: TensorFlow's grpc+verbs, +gdr and +mpi
};
inline constexpr std::array all_transports{Transport::collectives, Transport::grpc,
                                           Transport::grpc_rdma};
std::string_view transport_name(Transport transport);
Transport parse_transport(std::string_view name);  ///< throws ConfigError

/// Who calls parameter servers, where they are reached by calls.
enum class Callers {
  ranks,  ///< each rank by itself; servers are ranks, too
  /// One process of each node. It adds up what the node's ranks have, in its memory, and gives them
  /// what it got. Servers are processes of their own, one on a node at most, from node 0 on.
  nodes,
  several_nodes,  ///< likewise; on one node alone its process keeps all parameters, and calls none
};
inline constexpr std::array all_callers{Callers::ranks, Callers::nodes, Callers::several_nodes};
constexpr bool goes_with_transport(Transport transport, Callers callers) {
  return transport != Transport::collectives || callers == Callers::ranks;
}
std::string_view callers_name(Callers callers);
Callers parse_callers(std::string_view name);  ///< throws ConfigError

/// What some schedules can be tuned by; the others ignore it (core/run/schedule_settings.hpp).
struct ScheduleSettings {
  /// horovod: from one wake-up to the next, > 0, and the most that is packed into one message,
  /// ≥ 0 (a larger gradient travels alone). [Horovod 0.21 operations.cc: 1 ms, 128 MiB]
  Seconds cycle{1e-3};
  Bytes fusion_threshold{128.0 * 1024 * 1024};
  /// bucketed, reduce_scatter_overlap: at what size, ≥ 4 B, a bucket is closed, and the first.
  Bytes first_bucket = first_bucket_limit;
  Bytes bucket = bucket_limit;
  /// priority: the most of a part, ≥ 4 B [BytePS docs/env.md], and parts under way at once, ≥ 1
  /// [as ByteScheduler's credit of four of its partitions].
  Bytes partition{4'096'000};
  int credit = 4;
  /// parameter_server: ranks (or, of callers that are nodes, nodes) 0 … servers - 1 own parameters;
  /// 0: all do.
  int servers = 0;
  Sharding sharding = Sharding::largest_first;   ///< parameter_server: which of them owns what
  Transport transport = Transport::collectives;  ///< parameter_server: how ranks reach them
  Callers callers = Callers::ranks;              ///< who calls them; else than ranks: with calls
  bool operator==(const ScheduleSettings&) const = default;
};

/// When a batch that was read reaches the memory of the device.
enum class InputCopy {
  on_path,  ///< at the start of its iteration: (1.3')
  ahead,    ///< while the device computes the iteration before: (1.3)
};
std::string_view input_copy_name(InputCopy copy);
InputCopy parse_input_copy(std::string_view name);  ///< throws ConfigError

/// Where a decoded picture becomes the numbers that a network reads: (value / 255 - mean) /
/// deviation of each channel.
enum class Normalisation {
  host,    ///< by the loader threads; f32 travels to the device
  device,  ///< bytes travel to the device, a quarter as many
};
std::string_view normalisation_name(Normalisation normalisation);
Normalisation parse_normalisation(std::string_view name);  ///< throws ConfigError

/// How a host gives a device the work of an iteration.
enum class Launch {
  eager,  ///< every kernel anew
  graph,  ///< recorded once and given again as a whole: on NVIDIA GPUs CUDA graphs
};
std::string_view launch_name(Launch launch);
Launch parse_launch(std::string_view name);  ///< throws ConfigError

/// The most images of a rank and iteration: nothing holds more.
inline constexpr int most_images_per_rank = 65'536;

/// One training run: a network on a cluster. Everything a prediction and a measurement must agree
/// on. Weak scaling: `batch` images per rank.
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
  int cores_per_rank = 1;   ///< processor cores the threads of a rank share; CPU devices
  int compute_threads = 1;  ///< threads of the compute device; CPU devices
  int loader_threads = 1;
  int prefetch = 2;  ///< batches decoded ahead, ≥ 1
  /// Devices with memory of their own copy ahead, processors cannot.
  InputCopy input_copy = InputCopy::on_path;
  Launch launch = Launch::eager;  ///< graph: only devices that run beside the host
  Normalisation normalisation = Normalisation::host;
  bool fuse_relu = false;  ///< ReLUs are part of the layers before them
};

/// The nodes that the ranks of a run fill, the last maybe in part.
int node_count(const Run& run);

/// How many can own parameters under Synchronisation::parameter_server, ranks or nodes, and how
/// many do.
int most_servers(const Run& run);
int server_count(const Run& run);

/// Throws ConfigError naming the field, the value and what is allowed. A parameter server goes with
/// the schedules sequential, wait_free and bucketed, and rules that give out tensors with the first
/// two.
void check(const Run& run);

}  // namespace dlscale
