#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::cases {

/// interpolate: curves of the same number of ranks are given; extrapolate: only of fewer.
enum class CurveTask { interpolate, extrapolate };

/// The memory of a collective's buffers. `other`: an unknown word.
enum class BufferMemory { device, host, other };

/// Nominal hardware of a curve, with fewer facts than that of a training.
struct CurveCluster {
  std::string gpu;                          ///< the GPU, or another kind of rank, in words
  int gpus_per_node = 0;                    ///< 0: not stated
  std::optional<CaseLink> intra_node = {};  ///< empty: not stated, or one rank a node
  std::optional<CaseLink> inter_node = {};  ///< empty: not stated, or one node
  bool operator==(const CurveCluster&) const = default;
};

/// Times of a collective that a predictor may use.
struct GivenCurve {
  int ranks = 0;                    ///< 0: not stated, then nodes ≥ 1
  int nodes = 0;                    ///< 0: not stated, then ranks ≥ 1
  std::vector<Bytes> bytes = {};    ///< > 0, ascending
  std::vector<Seconds> times = {};  ///< > 0, one for each size
  /// Number of ranks, or of nodes if ranks are not stated.
  [[nodiscard]] int scale() const { return ranks > 0 ? ranks : nodes; }
  bool operator==(const GivenCurve&) const = default;
};

/// Times of a collective to be predicted over sizes (schema dlscale.allreduce/1). It has everything
/// that a predictor may read. Sizes follow the convention of nccl-tests.
struct CurveCase {
  std::string id;   ///< "set/slug", unique in its file
  std::string set;  ///< the measured data set of the curve
  CurveTask task = CurveTask::interpolate;
  std::string collective;  ///< "all_reduce"
  std::string library;     ///< in words
  BufferMemory buffer = BufferMemory::other;
  int ranks = 0;  ///< number to predict for; 0: not stated, then nodes ≥ 1
  int nodes = 0;  ///< 0: not stated, then ranks ≥ 1
  CurveCluster cluster = {};
  std::vector<GivenCurve> given = {};
  std::vector<Bytes> query = {};  ///< > 0, ascending: the sizes to predict for
  std::string source = {};        ///< publisher; empty: not stated
  std::string licence = {};       ///< licence of the source
  /// Dotted names of fields that the source does not state.
  std::vector<std::string> assumed = {};
  /// Number of ranks, or of nodes if ranks are not stated.
  [[nodiscard]] int scale() const { return ranks > 0 ? ranks : nodes; }
  bool operator==(const CurveCase&) const = default;
};

}  // namespace dlscale::cases
