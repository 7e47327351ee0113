#pragma once
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/step.hpp"
#include "core/run/compute_traits.hpp"
#include "model/communication/algorithm_fit.hpp"
#include "model/communication/contention.hpp"
#include "model/fits/piecewise.hpp"
#include "model/machine/measured_level.hpp"
#include "model/published/scaling/facts/facts.hpp"

namespace dlscale::model {

/// Time of one kernel with cold caches, while ranks_on_node - 1 other ranks do the same.
struct KernelTime {
  std::string kernel;  ///< kernel_key()
  Pass pass = Pass::forward;
  DType dtype = DType::f32;
  int batch = 1;
  int threads = 1;
  int ranks_on_node = 1;
  Estimate<Seconds> time;
  /// Host time to launch it on a device that runs asynchronously; absent where the host computes.
  std::optional<Estimate<Seconds>> give = {};
  Work work;  ///< declared operations and bytes of one run
  std::string implementation;
  std::string source;  ///< result file
};

/// A collective on a number of ranks, as the library ran it.
struct CollectiveFit {
  std::string collective;  ///< "all_reduce"
  int ranks = 2;
  int ranks_on_node = 2;
  std::string waiting = "spin";  ///< how ranks synchronize before each message: "spin", "sleep"
  Piecewise cost;                ///< by message size
  std::string source;
  std::string memory = "host";  ///< where messages lie: "host", "device"
  [[nodiscard]] Seconds time(Bytes message) const { return cost.time(message).value; }
};

/// Cost T(n bytes) = start + n · per_byte of a copy or an update, by segments, because arrays that
/// fit in a cache cost less.
struct AffineFit {
  int ranks_on_node = 1;
  int threads = 1;
  DType dtype = DType::f32;  ///< precision of an update: bf16 weights are written beside f32
  Piecewise cost;            ///< by size of the array
  std::string source;
  std::optional<Estimate<Seconds>> give = {};  ///< as KernelTime::give; independent of the size
};

/// Launch of a graph of n kernels already uploaded to a device. The host takes host_start + n ·
/// host_per_kernel, and the device device_start before the first kernel. The device's time for an
/// empty kernel is part of the times of kernels.
struct GraphLaunch {
  Estimate<Seconds> host_start;
  Estimate<Seconds> host_per_kernel;
  Estimate<Seconds> device_start;
  std::string source;
  [[nodiscard]] Estimate<Seconds> give(std::size_t kernels) const {
    Estimate<Seconds> sum = static_cast<double>(kernels) * host_per_kernel;
    return sum += host_start;
  }
};

/// Input pipeline: time of one loader thread for one image of an H × W crop.
struct LoaderFit {
  int ranks_on_node = 1;
  int height = 224;
  int width = 224;
  Estimate<Seconds> read;
  Estimate<Seconds> decode;
  Estimate<Seconds> augment;
  std::string source;
  /// Thread time of one image.
  [[nodiscard]] Estimate<Seconds> picture() const {
    Estimate<Seconds> sum = read;
    sum += decode;
    sum += augment;
    return sum;
  }
};

/// Hardware and software of the results that a machine was fitted to. "unknown": the file does not
/// say, or nothing was measured.
struct MeasuredOn {
  std::string cpu = "unknown";
  std::string host_hash = "unknown";  ///< Environment::host_hash
  std::string backend = "unknown";    ///< compute backend
  /// Name → version: libraries of the compute backend, and "communicator", used by bench comm.
  std::map<std::string, std::string> libraries;
  /// Links between hosts over which messages were measured; empty: none, or not recorded
  /// (calibrate/links.hpp).
  std::string links = {};
};

/// A cluster with fitted parameters: all hardware facts of a prediction. Comes from calibrate() or,
/// with data-sheet values and `fitted` = false, from nominal_machine().
struct Machine {
  Cluster cluster;
  bool fitted = false;
  std::vector<KernelTime> kernels;
  std::vector<CollectiveFit> collectives;
  std::vector<AlgorithmFit> algorithms;         ///< closed forms, over all numbers of ranks
  std::optional<ReductionTime> reduction = {};  ///< γ, where it could be measured
  /// Slow-downs of messages and work that overlap, where measured.
  std::vector<ContentionFit> contention;
  std::vector<AffineFit> h2d;
  std::vector<AffineFit> update;                 ///< per byte of f32 parameters
  std::optional<GraphLaunch> graph_launch = {};  ///< where it was measured
  std::vector<LoaderFit> loaders;
  /// Bandwidth by kernel: "copy", "triad". One rank with all its threads, arrays in memory.
  std::map<std::string, Estimate<BytesPerSecond>> memory_bandwidth;
  std::vector<std::string> sources;
  MeasuredOn measured_on;
  /// Whether cluster.inter_node was stated for this prediction: then it replaces the measurements
  /// across nodes. Not written to the file.
  bool inter_node_stated = false;
  /// Algorithm of all-reduces in this prediction, in place of the library's measurements
  /// (sgd_iter/messages/all_reduce_override.hpp), or "nccl": by its cost model. Empty: as measured,
  /// or as the cluster says. Not written to the file.
  std::string all_reduce_override = {};
  /// The override that switches that add replace. Not written to the file.
  std::string replaced_all_reduce = {};
  /// How the software of this prediction computes, where kernels are by data sheets; empty:
  /// unknown. Not written to the file.
  std::vector<ComputeRow> software = {};
  /// How that software exchanges gradients; absent: as PyTorch does by NCCL. Not written to the
  /// file.
  std::optional<scaling::FrameworkTraits> exchange_traits = {};
  /// By data sheets: how measured points of a training differ from them. Not written to the file.
  std::optional<MeasuredLevel> level = {};
};

/// Reads JSON {"schema": "dlscale.machine", "version": 1, …} in SI units, with the unit in the key.
/// Throws ConfigError that names file and place for invalid JSON, missing, unknown and duplicate
/// keys, and values out of range. Optional keys, which files of earlier versions lack:
/// "algorithms", "reduction", "contention", "graph_launch", "measured_on", its "links" and
/// "give_s". In the cluster: "node", "network", "nccl" and "all_reduce". In algorithms:
/// "foresight", "shared_cores", "two_way", "both_ways_s_per_byte" and "beside_closed_form". In
/// segments and ranges: "spread". In the device: "sheet",
/// "units" and "launched".
Machine load_machine(const std::filesystem::path& path);
/// Writes with write_whole(), so that a full disk leaves an older file intact. Throws ConfigError.
void save_machine(const std::filesystem::path& path, const Machine& machine);
/// The machine as text. `where` names its origin in errors.
std::string machine_json(const Machine& machine);
Machine machine_from_json(std::string_view text, std::string_view where);

/// A machine from data sheets alone: rooflines at full peak and bandwidth, links at line rate with
/// the stated start-ups. Its times are not bounds: a library may need fewer operations than a layer
/// declares, and another algorithm fewer start-ups. Intervals are of 90 %, by what published
/// trainings reached of data sheets (datasheet_efficiency.hpp). predict() adds kernels and
/// collectives, because it knows their sizes. Throws ConfigError if the cluster gives no peak,
/// memory or host link bandwidth.
Machine nominal_machine(const Cluster& cluster);

}  // namespace dlscale::model
