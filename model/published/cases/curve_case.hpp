#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::cases {

/// interpolate: curves of the same number of ranks are given; extrapolate: of fewer.
enum class CurveTask { interpolate, extrapolate };

/// Where the buffers of a collective are. `other`: a word that is neither.
enum class BufferMemory { device, host, other };

/// Nominal hardware of a curve, of which less is told than of a training.
struct CurveCluster {
  std::string gpu;                          ///< or what else the ranks are, in words
  int gpus_per_node = 0;                    ///< 0: not told
  std::optional<CaseLink> intra_node = {};  ///< none: not told, or a rank a node
  std::optional<CaseLink> inter_node = {};  ///< none: not told, or one node
  bool operator==(const CurveCluster&) const = default;
};

/// Times of a collective that a predictor may use.
struct GivenCurve {
  int ranks = 0;                    ///< 0: not told, then nodes ≥ 1
  int nodes = 0;                    ///< 0: not told, then ranks ≥ 1
  std::vector<Bytes> bytes = {};    ///< > 0, ascending
  std::vector<Seconds> times = {};  ///< > 0, as many
  /// Ranks, or nodes where those are not told.
  [[nodiscard]] int scale() const { return ranks > 0 ? ranks : nodes; }
  bool operator==(const GivenCurve&) const = default;
};

/// Times of a collective over sizes that are to be predicted (schema dlscale.allreduce/1): all that
/// a predictor may read of it. Sizes are as nccl-tests counts them.
struct CurveCase {
  std::string id;   ///< "set/slug", unique in its file
  std::string set;  ///< the measured data set it is of
  CurveTask task = CurveTask::interpolate;
  std::string collective;  ///< "all_reduce"
  std::string library;     ///< in words
  BufferMemory buffer = BufferMemory::other;
  int ranks = 0;  ///< to predict for; 0: not told, then nodes ≥ 1
  int nodes = 0;  ///< 0: not told, then ranks ≥ 1
  CurveCluster cluster = {};
  std::vector<GivenCurve> given = {};
  std::vector<Bytes> query = {};  ///< > 0, ascending: the sizes to predict for
  std::string source = {};        ///< who published it; empty: not told
  std::string licence = {};       ///< of the source
  /// Dotted names of fields that are not in the source.
  std::vector<std::string> assumed = {};
  /// Ranks, or nodes where those are not told.
  [[nodiscard]] int scale() const { return ranks > 0 ? ranks : nodes; }
  bool operator==(const CurveCase&) const = default;
};

}  // namespace dlscale::cases
