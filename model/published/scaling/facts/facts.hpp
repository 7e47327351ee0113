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

/// How GPUs of a node reach each other: over PCIe, over a mesh of NVLinks of which a subset of the
/// GPUs can use a part only, over switches.
enum class NodeFabric { pcie, mesh, switched };
/// How nodes do. `none`: there is one.
enum class ClusterFabric { none, tcp, rdma };

/// Which gradients travel together.
enum class Grouping {
  single,      ///< all at once, when the last is ready
  each,        ///< every tensor by itself
  by_bytes,    ///< as many as fill a bucket, in backward order
  by_time,     ///< what becomes ready within the same part of the backward pass
  best_merge,  ///< the grouping among many that exposes least
};

/// What the way that a framework trains says about time.
struct FrameworkTraits {
  std::string family = {};  ///< "Horovod", for notes
  /// The workers agree by messages over the host before each collective.
  bool coordinator = false;
  /// Its coordinator starts at most one fused message each cycle.
  std::optional<Seconds> fusion_cycle = {};
  Grouping grouping = Grouping::by_bytes;  ///< of overlap "bucketed"
  std::optional<Grouping> unfused = {};    ///< of overlap "wfbp", where it is not Grouping::each
  Bytes first_bucket = {};                 ///< > 0, of by_bytes
  Bytes bucket = {};                       ///< > 0, of by_bytes and by_time: the most of a message
  /// Kernels are launched one by one from an interpreter, without recorded graphs.
  bool eager = false;
  /// Kernels are launched by recorded graphs.
  bool graphs = false;
  /// A collective library that has rings only (NCCL before 2.4).
  bool rings_only = false;
  /// One that has a single ring (NCCL 1).
  bool one_ring = false;
  /// Gradients pass between nodes by MPI through host memory.
  bool over_host = false;
  /// Gradients pass between nodes by remote procedure calls over TCP, whatever the links.
  bool over_rpc = false;
  /// Which server keeps what, where servers keep parameters and it is known.
  std::optional<Sharding> sharding = {};
  /// All gradients are packed before any is sent where overlap is not told.
  bool packs_all = false;
};

/// GPUs that train together, as their links see them.
struct Layout {
  int gpus = 1;
  int nodes = 1;
  int gpus_on_node = 1;  ///< of the fullest
  /// Where each node has a parameter server: what the one keeps that keeps most, over what it would
  /// if all kept as much; in [1, nodes].
  double busiest_server = 1;
};

/// All that the model of scaling knows of a training: facts of the case, of data sheets and of the
/// framework's sources. Nothing measured but the given point.
struct TrainingFacts {
  double parameters = 0;
  Bytes gradient = {};  ///< M > 0
  TensorProfile profile = {};
  Layout given = {};  ///< of the point that is given
  Seconds given_iteration = {};
  double given_batch = 0;  ///< per GPU
  /// The given time is of computing alone: without optimiser and input.
  bool given_computes_only = false;
  Layout asked = {};
  double batch = 0;             ///< per GPU
  Bytes sample = {};            ///< of one on the host, 0 where not known
  bool uneven_samples = false;  ///< batches of samples of different length or size
  NodeFabric node_fabric = NodeFabric::pcie;
  BytesPerSecond node_bandwidth = {};  ///< nominal, per GPU in one direction
  int node_links = 1;                  ///< NVLinks of a GPU, of a mesh
  ClusterFabric cluster_fabric = ClusterFabric::none;
  BytesPerSecond cluster_bandwidth = {};  ///< nominal, per node; 0 where there is one node
  int cards = 1;                          ///< of a node that share it, 1 where that is not told
  BytesPerSecond memory_bandwidth = {};   ///< of a GPU's memory, by its data sheet
  int launched = 0;                       ///< year in which the first GPU of its chip came out
  cases::Synchronisation synchronisation = cases::Synchronisation::all_reduce;
  cases::Overlap overlap = cases::Overlap::unknown;
  FrameworkTraits framework = {};
  /// What had to be guessed, each a sentence: a GPU without data sheet, a framework not known.
  std::vector<std::string> guesses = {};
  /// What else was chosen or is known by halves only, each a sentence: which of several given
  /// points, tensors of a network whose layers are not known.
  std::vector<std::string> notes = {};
};

/// Data that facts are looked up in.
struct FactSources {
  DeviceCatalogue devices;
  std::vector<LinkKind> links;
  std::vector<FrameworkProfile> frameworks;
  KnownNetworks networks = {};
  static FactSources load();  ///< of configs/
};

/// Why the model does not cover a training, as a sentence; nothing if it does: model parallelism,
/// sharded states, no given point, a way to synchronise that it does not know.
std::optional<std::string> not_covered(const cases::ScalingCase& training);

/// The point to start from: of several the nearest, by |lg of the ratio of GPUs| + |lg of that of
/// batches a GPU|, of equally near ones that with fewer GPUs. A time of computing alone counts as
/// further away than any other. [a choice: what lies between is what the model can miss] Requires
/// some.
const cases::GivenPoint& nearest_given(const cases::ScalingCase& training);

/// Whether a given point says that its time is of computing alone, without update and input: by its
/// field computes_only where a case states it, else where a clause of its note says that and no
/// more ("compute only, no communication"). A clause that says anything else besides does not
/// count, as a denial ("not compute only") does; nor does one whose sentence takes it back
/// ("compute only, which it is not").
bool computes_only(const cases::GivenPoint& given);

/// Requires that it is covered.
TrainingFacts training_facts(const cases::ScalingCase& training, const FactSources& sources);

/// A message of an all-reduce.
struct ScalingMessage {
  Bytes size = {};   ///< > 0
  double ready = 1;  ///< ρ of its last tensor
};

/// The ways in which the gradients of a training may be grouped, each in backward order: one way,
/// except for Grouping::best_merge. `grouping` is by facts.overlap.
std::vector<std::vector<ScalingMessage>> message_lists(const TrainingFacts& facts);

}  // namespace dlscale::model::scaling
