#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster.hpp"
#include "core/step.hpp"
#include "core/units.hpp"

namespace dlscale::model {

/// A fitted value with its 95 % interval.
template <class Q>
struct Estimate {
  Q value;
  Q low;
  Q high;
};

/// Time of one kernel, cold caches, beside ranks_on_node - 1 other ranks that do the same.
struct KernelTime {
  std::string kernel;  ///< kernel_key()
  Pass pass = Pass::forward;
  DType dtype = DType::f32;
  int batch = 1;
  int threads = 1;
  int ranks_on_node = 1;
  Estimate<Seconds> time;
  std::string implementation;
  std::string source;  ///< result file
};

/// T(m) = α + β m for messages of [from, to) bytes.
struct Segment {
  Bytes from;
  Bytes to;
  Estimate<Seconds> alpha;
  Estimate<SecondsPerByte> beta;
  double median_residual = 0;  ///< |fit - measured| / measured over the points fitted
  int points = 0;
};

/// A collective on a number of ranks, as the library ran it.
struct CollectiveFit {
  std::string collective;  ///< "all_reduce"
  int ranks = 2;
  int ranks_on_node = 2;
  std::vector<Segment> segments;  ///< ascending, contiguous
  std::string source;
  [[nodiscard]] Seconds time(Bytes message) const;
};

/// Affine cost T(n bytes) = start + n · per_byte of a copy or an update.
struct AffineFit {
  int ranks_on_node = 1;
  Estimate<Seconds> start;
  Estimate<SecondsPerByte> per_byte;
  std::string source;
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
};

/// A cluster with fitted parameters: everything a prediction may know about hardware. Comes from
/// calibrate() or, with data-sheet values and `fitted` = false, from nominal_machine().
struct Machine {
  Cluster cluster;
  bool fitted = false;
  std::vector<KernelTime> kernels;
  std::vector<CollectiveFit> collectives;
  std::vector<AffineFit> h2d;
  std::vector<AffineFit> update;  ///< per byte of f32 parameters
  std::vector<LoaderFit> loaders;
  std::map<std::string, Estimate<BytesPerSecond>> memory_bandwidth;  ///< by kernel: "copy", "triad"
  std::vector<std::string> sources;
};

/// JSON, SI, unit in the key. Throws ConfigError.
Machine load_machine(const std::filesystem::path& path);
void save_machine(const std::filesystem::path& path, const Machine& machine);

/// Times from data sheets alone: rooflines at full peak and bandwidth, links at line rate. A lower
/// bound on time, said to be one.
Machine nominal_machine(const Cluster& cluster);

}  // namespace dlscale::model
