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
#include "model/communication/algorithm_fit.hpp"
#include "model/communication/contention.hpp"
#include "model/fits/piecewise.hpp"

namespace dlscale::model {

/// Time of one kernel, cold caches, beside ranks_on_node - 1 other ranks that do the same.
struct KernelTime {
  std::string kernel;  ///< kernel_key()
  Pass pass = Pass::forward;
  DType dtype = DType::f32;
  int batch = 1;
  int threads = 1;
  int ranks_on_node = 1;
  Estimate<Seconds> time;
  /// The host's time to give it to a device that runs beside it; absent where the host computes.
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
  std::string waiting = "spin";  ///< how ranks met before each message: "spin", "sleep"
  Piecewise cost;                ///< by message size
  std::string source;
  std::string memory = "host";  ///< in which messages lie: "host", "device"
  [[nodiscard]] Seconds time(Bytes message) const { return cost.time(message).value; }
};

/// Cost T(n bytes) = start + n · per_byte of a copy or an update, by segments: arrays that fit in
/// a cache cost less.
struct AffineFit {
  int ranks_on_node = 1;
  int threads = 1;
  DType dtype = DType::f32;  ///< of an update: bf16 weights are written beside the f32 ones
  Piecewise cost;            ///< by size of the array
  std::string source;
  std::optional<Estimate<Seconds>> give = {};  ///< as KernelTime::give; the same for all sizes
};

/// A graph of n kernels that a device was given once, each time that it is given again: the host
/// takes host_start + n · host_per_kernel to give it, and the device device_start before the first
/// kernel. What the device takes for an empty kernel is in the times of kernels.
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

/// Input pipeline: what one loader thread spends on one picture for an H × W crop.
struct LoaderFit {
  int ranks_on_node = 1;
  int height = 224;
  int width = 224;
  Estimate<Seconds> read;
  Estimate<Seconds> decode;
  Estimate<Seconds> augment;
  std::string source;
  /// Thread time of one picture.
  [[nodiscard]] Estimate<Seconds> picture() const {
    Estimate<Seconds> sum = read;
    sum += decode;
    sum += augment;
    return sum;
  }
};

/// Where and with what the results were measured that a machine was fitted to. "unknown": the file
/// does not say, or nothing was measured.
struct MeasuredOn {
  std::string cpu = "unknown";
  std::string host_hash = "unknown";  ///< Environment::host_hash
  std::string backend = "unknown";    ///< compute backend
  /// Name → version: those of the compute backend, and "communicator", which bench comm measured.
  std::map<std::string, std::string> libraries;
  /// Between hosts, over which messages were measured; empty: none were, or nothing is said of them
  /// (calibrate/links.hpp).
  std::string links = {};
};

/// A cluster with fitted parameters: everything a prediction may know about hardware. Comes from
/// calibrate() or, with data-sheet values and `fitted` = false, from nominal_machine().
struct Machine {
  Cluster cluster;
  bool fitted = false;
  std::vector<KernelTime> kernels;
  std::vector<CollectiveFit> collectives;
  std::vector<AlgorithmFit> algorithms;         ///< closed forms, over all numbers of ranks
  std::optional<ReductionTime> reduction = {};  ///< γ, where something tells it
  std::vector<ContentionFit> contention;        ///< of messages beside work, where it was measured
  std::vector<AffineFit> h2d;
  std::vector<AffineFit> update;                 ///< per byte of f32 parameters
  std::optional<GraphLaunch> graph_launch = {};  ///< where it was measured
  std::vector<LoaderFit> loaders;
  /// By kernel: "copy", "triad". Of one rank with all its threads, arrays in memory.
  std::map<std::string, Estimate<BytesPerSecond>> memory_bandwidth;
  std::vector<std::string> sources;
  MeasuredOn measured_on;
  /// cluster.inter_node was stated for one prediction: it counts, and what was measured across
  /// nodes does not. No part of the file.
  bool inter_node_stated = false;
  /// How all-reduces are carried out in one prediction, whatever was measured of a library
  /// (sgd_iter/asked_all_reduce.hpp), or "nccl": by its own cost model. Empty: as measured, or as
  /// the cluster says. No part of the file.
  std::string all_reduce_asked = {};
};

/// JSON {"schema": "dlscale.machine", "version": 1, …}, SI, unit in the key. Throws ConfigError
/// that names the file and the place in it: not JSON, missing, unknown and double keys, values out
/// of range. Only "algorithms", "reduction", "contention", "graph_launch", "measured_on", its
/// "links" and "give_s" may be missing, of the cluster "node", "network", "nccl" and "all_reduce",
/// and of algorithms "foresight", "shared_cores", "two_way", "both_ways_s_per_byte" and
/// "beside_closed_form", and "spread" of segments and ranges: files of earlier versions lack them.
Machine load_machine(const std::filesystem::path& path);
/// A full disk leaves an older file as it was: written by write_whole(). Throws ConfigError.
void save_machine(const std::filesystem::path& path, const Machine& machine);
/// The same as text. `where` names its origin in errors.
std::string machine_json(const Machine& machine);
Machine machine_from_json(std::string_view text, std::string_view where);

/// Times from data sheets alone: rooflines at full peak and bandwidth, links at line rate and with
/// the start-ups that are stated. No bound: a library may need fewer operations than a layer
/// declares, and another algorithm fewer start-ups. Intervals are of 90 %, by what published
/// trainings reached of data sheets (data_sheet_shares.hpp). Kernels and collectives are left to
/// predict(), which knows their sizes. Throws ConfigError if the cluster gives no peak, memory or
/// host link bandwidth.
Machine nominal_machine(const Cluster& cluster);

}  // namespace dlscale::model
