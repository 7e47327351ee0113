#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/device_file.hpp"
#include "core/cluster/link_kind.hpp"
#include "core/run/framework_file.hpp"
#include "core/run/run.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/scaling/facts/tensors.hpp"

namespace dlscale::model::scaling {

/// The links between GPUs of a node: PCIe, a mesh of NVLinks, or switches. A subset of the GPUs can
/// use only a part of a mesh.
enum class NodeFabric { pcie, mesh, switched };
/// The links between nodes. `none`: there is one node.
enum class ClusterFabric { none, tcp, rdma };

/// The grouping of gradients into messages.
enum class Grouping {
  single,      ///< one message, when the last gradient is ready
  each,        ///< one message for each tensor
  by_bytes,    ///< messages that fill a bucket, in backward order
  by_time,     ///< gradients that become ready in the same part of backward
  best_merge,  ///< the grouping, among many, that exposes least
};

/// The properties of a framework that affect time.
struct FrameworkTraits {
  std::string family = {};  ///< the name of its profile, "Horovod"; empty if there is none
  /// Whether workers agree by messages over the host before each collective.
  bool coordinator = false;
  /// If set, the coordinator starts at most one fused message each cycle.
  std::optional<Seconds> fusion_cycle = {};
  Grouping grouping = Grouping::by_bytes;  ///< for overlap "bucketed"
  std::optional<Grouping> unfused = {};    ///< for overlap "wfbp", if not Grouping::each
  Bytes first_bucket = {};                 ///< > 0, for by_bytes
  Bytes bucket = {};                       ///< > 0, for by_bytes and by_time: the most of a message
  /// Whether an interpreter launches kernels one by one, without recorded graphs.
  bool eager = false;
  /// Whether recorded graphs launch kernels.
  bool graphs = false;
  /// Whether the collective library has rings only (NCCL before 2.4).
  bool rings_only = false;
  /// Whether the collective library has a single ring (NCCL 1).
  bool one_ring = false;
  /// Whether gradients pass between nodes by MPI through host memory.
  bool over_host = false;
  /// Whether gradients pass between nodes by sockets over TCP, whatever the links.
  bool over_sockets = false;
  /// Whether the framework is known, but not if it uses RDMA where links offer it, or sockets.
  bool transport_unknown = false;
  NodeSum node_sum = NodeSum::host;  ///< for parameter servers
  /// Whether parameter servers add gradients, or keep the parameters.
  bool servers = false;
  /// Whether each GPU calls servers by itself, without a sum of its node.
  bool each_calls = false;
  /// The assignment of parameters to servers, if servers keep them and it is known.
  std::optional<Sharding> sharding = {};
  /// Whether it is not known if messages travel beside computing. Cases state it by themselves.
  bool overlap_unknown = false;
  /// Whether all gradients are packed before any is sent, if overlap is not stated.
  bool packs_all = false;
};

/// The placement of GPUs that train together.
struct Layout {
  int gpus = 1;
  int nodes = 1;
  int gpus_on_node = 1;  ///< GPUs on the fullest node
  /// The largest share of a parameter server over an even share, if each node has a server;
  /// in [1, nodes].
  double busiest_server = 1;
};

/// Everything that the model of scaling knows about a training: facts of the case, of data sheets
/// and of the framework's sources. The given point is the only measurement.
struct TrainingFacts {
  double parameters = 0;
  Bytes gradient = {};  ///< M > 0
  TensorProfile profile = {};
  Layout given = {};  ///< layout of the given point
  Seconds given_iteration = {};
  double given_batch = 0;  ///< per GPU
  /// Whether the given time is that of computing alone, without optimiser and input.
  bool given_computes_only = false;
  Layout asked = {};
  double batch = 0;   ///< per GPU
  Bytes sample = {};  ///< bytes of a sample on the host; 0 if not known
  /// Share of an iteration's computing in which backward runs, if layers were timed.
  std::optional<double> backward_share = {};
  bool uneven_samples = false;   ///< whether samples of a batch differ in length or size
  bool half_precision = false;   ///< whether it computes in 16 or 8 bits, at least partly
  bool synthetic_input = false;  ///< whether samples are known to be made up, not read
  NodeFabric node_fabric = NodeFabric::pcie;
  BytesPerSecond node_bandwidth = {};  ///< nominal, per GPU in one direction
  /// The same of all of a GPU's links, where node_bandwidth is that of the rings that some of its
  /// node's GPUs use; 0: node_bandwidth.
  BytesPerSecond node_nominal = {};
  int node_links = 1;  ///< NVLinks of a GPU in a mesh
  ClusterFabric cluster_fabric = ClusterFabric::none;
  BytesPerSecond cluster_bandwidth = {};  ///< nominal, per node; 0 with one node
  int cards = 1;                          ///< cards of a node that share it; 1 if not stated
  BytesPerSecond memory_bandwidth = {};   ///< bandwidth of a GPU's memory, by its data sheet
  int launched = 0;                       ///< year of the first GPU with its chip
  cases::Synchronisation synchronisation = cases::Synchronisation::all_reduce;
  cases::Overlap overlap = cases::Overlap::unknown;
  FrameworkTraits framework = {};
  /// Facts that had to be guessed, a sentence each: a GPU without data sheet, an unknown framework.
  std::vector<std::string> guesses = {};
  /// Other choices and partly known facts, a sentence each: the choice among several given points,
  /// the tensors of a network whose layers are not known.
  std::vector<std::string> notes = {};
};

/// The data in which facts are looked up.
struct FactSources {
  DeviceCatalogue devices;
  std::vector<LinkKind> links;
  std::vector<FrameworkProfile> frameworks;
  KnownNetworks networks = {};
  static FactSources load();  ///< reads configs/
};

/// The reason why the model does not cover a training, as a sentence; empty if it does. Reasons are
/// model parallelism, sharded states, no given point, or an unknown kind of synchronisation.
std::optional<std::string> not_covered(const cases::ScalingCase& training);

/// The nearest given point, by |lg of the ratio of GPUs| + |lg of the ratio of batches per GPU|. Of
/// equally near points the one with fewer GPUs counts. A time of computing alone counts as further
/// away than any other. [a choice: the model can miss what lies between] Requires at least one
/// given point.
const cases::GivenPoint& nearest_given(const cases::ScalingCase& training);

/// Whether the time of a given point is that of computing alone, without update and input. Its
/// field computes_only decides if it is stated, else its note: a clause must say that and nothing
/// else ("compute only, no communication"). A denial ("not compute only") does not count, nor a
/// clause that the rest of its sentence takes back ("compute only, which it is not").
bool computes_only(const cases::GivenPoint& given);

/// A picture of three colours at the usual size, in f32.
inline constexpr Bytes picture_bytes{224.0 * 224 * 3 * 4};

/// How many times an even share the busiest of `servers` ≥ 1 keeps, by the framework's rule; 1 if
/// the rule or the layers are not known.
double server_imbalance(const TrainingFacts& facts, int servers);

/// Requires a covered training: not_covered() is empty.
TrainingFacts training_facts(const cases::ScalingCase& training, const FactSources& sources);

/// A message of an all-reduce.
struct ScalingMessage {
  Bytes size = {};   ///< > 0
  double ready = 1;  ///< ρ of its last tensor
};

/// The candidate groupings of the gradients of a training, each in backward order. There is one,
/// except for Grouping::best_merge. facts.overlap decides the grouping.
std::vector<std::vector<ScalingMessage>> message_lists(const TrainingFacts& facts);

}  // namespace dlscale::model::scaling
