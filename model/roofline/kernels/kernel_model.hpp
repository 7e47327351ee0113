#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "model/machine/machine.hpp"
#include "model/roofline/kernels/ceilings.hpp"
#include "model/roofline/kernels/correction.hpp"
#include "model/roofline/kernels/kernel_sample.hpp"
#include "model/roofline/kernels/kernel_terms.hpp"

namespace dlscale::model {

/// The source of the size of a workspace.
enum class WorkspaceBasis {
  declared,  ///< our own code takes it: convolution::AlgorithmWork
  measured,  ///< measured for this case
  bounded,   ///< estimated by the largest measured share of the tensors' bytes
  formula,   ///< the papers' formula, which a library need not follow
};
std::string_view workspace_basis_name(WorkspaceBasis basis);

/// Memory that an algorithm takes beside the tensors.
struct Workspace {
  Bytes size;
  WorkspaceBasis basis = WorkspaceBasis::declared;
  /// A size from a formula alone is within no limit, since the library may take any amount.
  [[nodiscard]] bool within(const std::optional<Bytes>& limit) const;
};

/// A kernel and a batch whose workspace was measured.
struct WorkspaceCase {
  std::string kernel;  ///< kernel_key()
  int batch = 1;
  auto operator<=>(const WorkspaceCase&) const = default;
};
/// Bytes by case, for one way whose code is not ours.
using MeasuredWorkspaces = std::map<WorkspaceCase, Bytes>;

/// Whether that way's code is ours, so that convolution::AlgorithmWork declares its workspace. No
/// direct convolution is ours.
bool declares_workspace(const Way& way);

/// The workspace of a case by a way. A way that declares its workspace ignores `measured`.
/// Otherwise the size of a measured case counts, or else
///   W = max over measured cases (Wᵢ / Bᵢ) · B
/// where B is the bytes of input, filters and output once each [D: ours]. Wrong where the library
/// takes a larger share for this shape than for any measured one: the largest share seen is not a
/// guaranteed bound. It is far too large for most shapes, since the shares of some are small.
Workspace workspace_of(const KernelCase& what, const MeasuredWorkspaces& measured);

/// Sizes of a case that decide whether a model has seen a similar one: operations, bytes, m, n, k
/// of its largest matrix product (direct: K, N P Q, C R S of a group), the taps R S of a filter,
/// and the stride.
struct CaseSizes {
  static constexpr std::array<std::string_view, 7> names{"flops", "bytes",  "m",     "n",
                                                         "k",     "filter", "stride"};
  static constexpr std::size_t flops = 0, bytes = 1;  ///< indices of these two
  std::array<double, names.size()> values{};
};
CaseSizes sizes_of(const KernelCase& what);
/// Distance from a range of the size that is farthest outside of it, in powers of 2; 0 if all are
/// inside.
double octaves_beyond(const CaseSizes& sizes, const CaseSizes& least, const CaseSizes& greatest);
/// Distance of operations or bytes below the least, whichever is farther, in powers of 2; 0 if
/// neither is below. A case with fewer than any fitted one may take little more than its start.
double octaves_below(const CaseSizes& sizes, const CaseSizes& least);

/// The time of a stage by either side of its roofline; the greater counts.
struct StageTime {
  std::string_view name;  ///< convolution::Stage::name
  Seconds compute, memory;
  [[nodiscard]] bool memory_bound() const { return memory > compute; }
  [[nodiscard]] Seconds time() const { return memory_bound() ? memory : compute; }
};

/// A name in KernelPrediction::beyond: the fit has not seen some terms of the case, and its time
/// lacks them. See KernelModel::tells().
inline constexpr std::string_view unseen_terms = "unseen_terms";

/// A predicted time.
struct KernelPrediction {
  Estimate<Seconds> time;           ///< 95 % interval by cross-validation; see KernelModel
  std::vector<std::string> beyond;  ///< sizes outside of the fitted range; empty: interpolated
  Seconds naive;          ///< by KernelModel::naive: the algorithm's work at the highest rates seen
  double correction = 1;  ///< KernelModel::correction, as a factor
  Seconds always = {};    ///< time of the start, the tensors and the workspace
  std::vector<StageTime> stages = {};  ///< `always` + stages = `time`, correction included
  [[nodiscard]] bool extrapolated() const { return !beyond.empty(); }
};

/// The time of convolutions by one way:
///   t = e^c (always + Σ over stages max(compute, memory))
/// where c is the correction. Each other value is a sum of amounts (kernel_terms.hpp) times
/// parameters ≥ 0: a few for each kind of stage, none for a shape. `always` covers the start, the
/// tensors and the workspace. A matrix product takes
///   2 m n k / π + a m n + b m k + c k n + d,
/// which is an efficiency of 1 / (1 + π/2 (a/k + b/n + c/m + d/(m n k))): products that are thin in
/// any direction are slow. The share W / (W + near) of the bytes of a working set W leaves the near
/// caches and counts once more. Bytes that the last level loses between stages count once more,
/// after all stages (Caches). [D: our own form] Wrong where
/// a library changes its kernel from shape to shape, which no size here shows. Between shapes that
/// were measured, the correction follows such a change.
struct KernelModel {
  Way way;
  Amounts parameters{};
  Caches caches;
  /// Terms that its samples, or those of its kin, contain. Parameters of other terms mean nothing.
  TermSet seen = TermSet().set();
  Correction correction;      ///< without residuals: none
  CaseSizes least, greatest;  ///< range of its samples
  /// 2.5 % and 97.5 % quantiles of measured / predicted at shapes left out of a fit: 95 % of new
  /// ratios lie between them.
  double ratio_low = 1;
  double ratio_high = 1;
  /// At d octaves beyond the range (octaves_beyond()) both ends lie e^(widening d) farther out. The
  /// interval then holds 95 % of samples an octave or more beyond a fit without the smallest or the
  /// largest third (fold_fits.hpp).
  double widening = 0;
  /// The upper end of the interval of the fastest sample. Samples do not determine the fixed cost
  /// of a run: the fastest time may consist of it entirely, or not at all. The interval therefore
  /// reaches up to the fastest sample at least, where a case is d octaves below the range
  /// (octaves_below()). Its lower end counts 2^-d of the fitted start.
  Seconds fastest = {};
  Roofline naive{};        ///< highest rates that any way reached, by its algorithm's work
  int vector_floats = 16;  ///< WorkSetting::vector_floats of its processor
  int kernels = 0;         ///< number of shapes fitted to
  int samples = 0;         ///< number of times fitted to: shapes by batches
  /// Measured workspaces; empty where declares_workspace().
  MeasuredWorkspaces workspaces;
  /// Whether the fit has seen all terms of the case. A fit to 3 × 3 filters has not seen those of
  /// 1 × 1 filters, for which libraries have other kernels.
  [[nodiscard]] bool tells(const KernelCase& what) const;
  [[nodiscard]] KernelPrediction predict(const KernelCase& what) const;
};

/// Models of all ways that were measured.
struct KernelModels {
  std::vector<KernelModel> models;
  std::string cpu = "unknown";
  std::vector<std::string> sources;  ///< result files
  /// Returns nullptr if no model is of that way.
  [[nodiscard]] const KernelModel* find(const Way& way) const;
};

/// A way to run a layer, and its predicted cost.
struct Candidate {
  Way way;
  KernelPrediction prediction;
  Workspace workspace;
  bool fits = true;  ///< Workspace::within() the limit
};

/// All ways whose models can predict a convolution: those that fit first, the fastest first. Empty
/// if there is none.
std::vector<Candidate> choose(const KernelModels& models, const std::string& kernel, int batch,
                              Pass pass, int threads, const std::string& cache,
                              std::optional<Bytes> workspace_limit = {});

/// The ways that offer the convolution but that choose() leaves out, because their models have not
/// seen all of its terms: KernelModel::tells().
std::vector<Way> untold_ways(const KernelModels& models, const std::string& kernel, int batch,
                             Pass pass, int threads, const std::string& cache);

/// JSON {"schema": "dlscale.kernels", "version": 9, …} in SI units, the unit in the key.
std::string kernel_models_json(const KernelModels& models);
/// Throws ConfigError that names `where` and the error.
KernelModels kernel_models_from_json(std::string_view text, std::string_view where);

}  // namespace dlscale::model
