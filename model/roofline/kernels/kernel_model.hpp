#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/machine/machine.hpp"
#include "model/roofline/kernels/correction.hpp"
#include "model/roofline/kernels/kernel_terms.hpp"
#include "model/roofline/kernels/roofline.hpp"
#include "model/roofline/kernels/workspace.hpp"

namespace dlscale::model {

/// Sizes of a case that say whether a model has seen the like of it: operations, bytes, m, n, k of
/// its largest matrix product (direct: K, N P Q, C R S of a group), the taps R S of a filter, and
/// the stride.
struct CaseSizes {
  static constexpr std::array<std::string_view, 7> names{"flops", "bytes",  "m",     "n",
                                                         "k",     "filter", "stride"};
  static constexpr std::size_t flops = 0, bytes = 1;  ///< places of these two
  std::array<double, names.size()> values{};
};
CaseSizes sizes_of(const KernelCase& what);
/// How far the size that is farthest beyond a range is from its end, in powers of 2; 0: all inside.
double octaves_beyond(const CaseSizes& sizes, const CaseSizes& least, const CaseSizes& greatest);
/// How far operations or bytes, whichever are farther, are below the least, in powers of 2; 0: none
/// is. A case with fewer than any that was fitted may take little more than its start.
double octaves_below(const CaseSizes& sizes, const CaseSizes& least);

/// How long a stage takes by either side of its roofline, of which the greater counts.
struct StageTime {
  std::string_view name;  ///< lowering::Stage::name
  Seconds compute, memory;
  [[nodiscard]] bool memory_bound() const { return memory > compute; }
  [[nodiscard]] Seconds time() const { return memory_bound() ? memory : compute; }
};

/// Among the sizes that a case is beyond: it has terms of which the fit has seen nothing, so that
/// its time is without them. KernelModel::tells().
inline constexpr std::string_view unseen_terms = "unseen_terms";

/// A predicted time.
struct KernelPrediction {
  Estimate<Seconds> time;           ///< 95 % interval by cross-validation: see KernelModel
  std::vector<std::string> beyond;  ///< sizes outside of the range fitted; empty: interpolated
  Seconds naive;          ///< KernelModel::naive: the algorithm's work at the highest rates seen
  double correction = 1;  ///< KernelModel::correction, as a factor
  Seconds always = {};    ///< the start, the tensors and the workspace
  std::vector<StageTime> stages = {};  ///< with `always` they add up to `time`, correction included
  [[nodiscard]] bool extrapolated() const { return !beyond.empty(); }
};

/// The time of convolutions by one way:
///   t = e^c (always + Σ over stages max(compute, memory))   [MODEL 4.6]
/// where c is the correction, and each of the others a sum of amounts (kernel_terms.hpp: `always`
/// has the start, the tensors and the workspace) times parameters ≥ 0, a few a kind of stage and
/// none a shape. Matrix products take, each,
///   2 m n k / π + a m n + b m k + c k n + d,
/// which is an efficiency of 1 / (1 + π/2 (a/k + b/n + c/m + d/(m n k))): products that are thin
/// in any direction are slow. Bytes of a working set W count once more, W / (W + near), where they
/// leave the near caches; bytes that the last level loses between stages count once more, after all
/// stages (Caches). [D: our own form; MODEL 4.6 leaves the efficiency open.]
/// Wrong where a library changes its kernel from shape to shape, which no size here tells; where it
/// does so between shapes that were measured, the correction follows it.
struct KernelModel {
  Way way;
  Amounts parameters{};
  Caches caches;
  /// Terms that the samples, or those of kin, have: the parameters of others mean nothing.
  TermSet seen = TermSet().set();
  Correction correction;      ///< without residuals: none
  CaseSizes least, greatest;  ///< of what it was fitted to
  double ratio_low = 1;       ///< measured / predicted of shapes left out of a fit: its 2.5 %
  double ratio_high = 1;      ///< and 97.5 % quantiles, so that 95 % of new ones lie between
  /// Beyond the range by d octaves (octaves_beyond()) both ends are e^(widening d) farther: so that
  /// 95 % of samples lay between that were left out as the smallest or the largest third, an octave
  /// or more beyond the others (beyond_fits.hpp).
  double widening = 0;
  /// The upper end of the interval of the fastest sample. What a run costs before it does anything
  /// is not told apart by samples: all of the fastest may be such a start, or none of it, what the
  /// fit calls so growing with the work. So d octaves below the range (octaves_below()) the
  /// interval reaches up to the fastest sample at least, and its lower end counts 2^-d of the
  /// fitted start.
  Seconds fastest = {};
  Roofline naive{};        ///< highest rates that any way reached, by its algorithm's work
  int vector_floats = 16;  ///< of the processor that ran it: WorkSetting::vector_floats
  int kernels = 0;         ///< fitted to so many shapes
  int samples = 0;         ///< and times: shapes by batches
  /// Of what was measured; empty where declares_workspace().
  MeasuredWorkspaces workspaces;
  /// Whether all terms of the case were seen. Of a fit to 3 × 3 filters, 1 × 1 are not, for which
  /// libraries have other kernels.
  [[nodiscard]] bool tells(const KernelCase& what) const;
  [[nodiscard]] KernelPrediction predict(const KernelCase& what) const;
};

/// Models of all ways that were measured.
struct KernelModels {
  std::vector<KernelModel> models;
  std::string cpu = "unknown";
  std::vector<std::string> sources;  ///< result files
  /// None if there is none.
  [[nodiscard]] const KernelModel* find(const Way& way) const;
};

/// A way to run a layer, and what it would cost.
struct Candidate {
  Way way;
  KernelPrediction prediction;
  Workspace workspace;
  bool fits = true;  ///< Workspace::within() the limit
};

/// All ways whose models tell the time of a convolution, those that fit first, the fastest first;
/// empty if there is none.
std::vector<Candidate> choose(const KernelModels& models, const std::string& kernel, int batch,
                              Pass pass, int threads, const std::string& cache,
                              std::optional<Bytes> workspace_limit = {});

/// The ways that choose() leaves out though they offer the convolution, since their models have
/// seen too little to tell its time: KernelModel::tells().
std::vector<Way> untold_ways(const KernelModels& models, const std::string& kernel, int batch,
                             Pass pass, int threads, const std::string& cache);

/// JSON {"schema": "dlscale.kernels", "version": 9, …}, SI, unit in the key.
std::string kernel_models_json(const KernelModels& models);
/// Throws ConfigError that names `where` and what is wrong there.
KernelModels kernel_models_from_json(std::string_view text, std::string_view where);

}  // namespace dlscale::model
