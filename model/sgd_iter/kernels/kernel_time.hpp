#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/roofline/kernels/ceilings.hpp"
#include "model/sgd_iter/evidence/notes.hpp"

namespace dlscale::model {

struct SheetTimes;

/// The ceilings of a cluster's device by its data sheet; f16 without a peak counts as f32, and is
/// noted. Throws ConfigError for another precision without a peak, and without memory bandwidth.
Roofline data_sheet(const Cluster& cluster, DType dtype, Notes& notes);

/// A fused network (core/network/relu_fusion.hpp) with every ReLU as a separate layer again, and
/// the separate steps that do the work of each fused step. It stands in for fused kernels that were
/// not measured.
///   forward                       the layer's; it applies ReLU to its own results
///   accumulate                    the ReLU's, whose output the consumers read
///   the first backward pass       the ReLU's backward_data, which reads and writes the same
///                                 gradients, then the layer's own, if it has one
///   backward_data after that      the layer's
/// So a fused layer takes as long as its two parts without the ReLU's forward pass. Wrong where
/// kernels apply the ReLU's gradient while reading, which saves more.
class UnfusedNetwork {
 public:
  explicit UnfusedNetwork(const Network& fused);
  [[nodiscard]] const Network& network() const { return network_; }
  /// The separate steps for a step of a layer with a ReLU.
  [[nodiscard]] std::vector<Step> steps(Step fused) const;

 private:
  Network network_;
  std::vector<LayerId> layers_;  ///< by layer of the fused network; its ReLU is the next one
};

/// Conditions of a measurement of a copy or an update, measured or wanted.
struct Conditions {
  DType dtype = DType::f32;
  int threads = 1;
  int ranks_on_node = 1;
  explicit Conditions(const AffineFit& fit)
      : dtype(fit.dtype), threads(fit.threads), ranks_on_node(fit.ranks_on_node) {}
  /// The conditions of a run.
  explicit Conditions(const Run& run);
  bool operator==(const Conditions&) const = default;
  /// "in f32 with 2 threads beside 4 ranks".
  [[nodiscard]] std::string text() const;
};

/// The fit with the nearest conditions: precision first, then threads, then ranks on the node.
/// Requires at least one fit.
const AffineFit& nearest(const std::vector<AffineFit>& fits, const Conditions& wanted);

/// The nearest of these fits; notes where `what`, "the update", was measured under other
/// conditions.
const AffineFit& noted_nearest(const Machine& machine, const std::vector<AffineFit>& fits,
                               const Conditions& wanted, std::string_view what, Notes& notes);

/// Source of the time of that size.
TimeSource affine_source(const Machine& machine, const std::vector<AffineFit>& fits,
                         const Conditions& wanted, Bytes size);

/// Times of the steps of a network on one rank of `ranks_on_node`. In this order:
///   measured with this kernel, pass, precision, batch and threads, at as many ranks on the node,
///     or at the nearest number measured;
///   between two measured batches: affine interpolation;
///   outside of them: the nearest one, scaled by the declared work;
///   a layer with its ReLU, measured only without: its parts (unfused_network());
///   never measured: the roofline that this machine's measured kernels span (at as many ranks or
///     the nearest number), at the efficiency that kernels of the same kind and pass reach, else of
///     the same pass, else all;
///   nominal machine: what kernels reach by the data sheet of a GPU
///   (roofline/sheet/step_times.hpp);
///     else the roofline at full peak, and the launch time.
/// All but the first and the last are noted.
///
/// With other ranks on the node a step takes
///   t = t(1) · (1 + e ē),   e = √(t(n) / t(1) − 1),   ē = Σ e t(1) / Σ t(1) over all steps,
/// where t(1) was measured on a rank alone and t(n) on n ranks that ran the same kernel at once (e
/// = 0 where t(n) < t(1)). The loss of a step to another is taken as proportional to e_i e_j, the
/// demands of both on shared caches and memory; t(n) gives it for i = j. Ranks drift apart between
/// messages, so that the other is in any of its steps, each for its share of the time. On average t
/// is at most t(n) (Cauchy–Schwarz). If only one of t(1), t(n) was measured, that one counts. [D,
/// derived: our own model, bilinear in demand; not from the literature.]
/// Wrong where ranks run in lock-step, so that all are in the same kernel, which takes t(n). Wrong
/// where contention saturates, so that further demand costs less than the product. Wrong on more
/// ranks than the n of t(n), whose demands add up.
///
/// Its interval is from the least t for the low ends of all t(n) to the greatest for their high
/// ends. Both are over t(1) at its low end, its value and its high end, with e and ē from these
/// same t(1). So the interval holds the value, and t(1) counts once: where all steps are alike, t =
/// t(n) for any t(1).
class KernelTimes {
 public:
  /// Throws ConfigError if the machine has no kernel in this precision and number of threads. All
  /// arguments must outlive this.
  KernelTimes(const Network& network, const Machine& machine, const Run& run, int ranks_on_node,
              Notes& notes);
  ~KernelTimes();
  KernelTimes(const KernelTimes&) = delete;
  KernelTimes& operator=(const KernelTimes&) = delete;
  [[nodiscard]] Estimate<Seconds> time(Step step) const;
  /// Host time to launch the step on an asynchronous device: that of the kernel at the nearest
  /// batch and number of ranks. For a kernel without it, the median of all (noted). Zero where no
  /// kernel has it: on processors, and from data sheets.
  [[nodiscard]] Estimate<Seconds> give(Step step) const;
  /// Source of that time.
  [[nodiscard]] TimeSource source(Step step) const;
  /// Update of `parameters` bytes of f32 parameters by the data sheet of a GPU; nothing for other
  /// machines.
  [[nodiscard]] std::optional<Estimate<Seconds>> update(Bytes parameters) const;

 private:
  using Batches = std::map<int, const KernelTime*>;
  using Kernels = std::vector<const KernelTime*>;
  struct Unfused;
  [[nodiscard]] bool needs_parts() const;
  [[nodiscard]] std::vector<Step> parts_of(Step step) const;
  [[nodiscard]] Estimate<Seconds> nominal(Step step) const;
  [[nodiscard]] const Kernels* kernels_of(Step step) const;
  [[nodiscard]] Estimate<Seconds> beside(const Kernels& kernels, int ranks_on_node,
                                         Step step) const;
  [[nodiscard]] TimeSource batch_source(const Kernels& kernels, int ranks_on_node) const;
  [[nodiscard]] Estimate<Seconds> contended(const Kernels& kernels, Step step) const;
  [[nodiscard]] Estimate<Seconds> together(const Kernels& kernels, Step step) const;
  void find_mean_pressure();
  void find_usual_give();
  [[nodiscard]] Estimate<Seconds> at_batch(const Batches& batches, Step step) const;
  [[nodiscard]] Estimate<Seconds> by_efficiency(Step step) const;
  [[nodiscard]] std::vector<double> efficiencies(std::string_view kind,
                                                 std::optional<Pass> pass) const;
  [[nodiscard]] Roofline spanned_roofline() const;
  [[nodiscard]] int nearest_ranks_on_node(const Kernels& kernels) const;
  void keep_comparable();
  void note_other_ranks(int ranks_on_node, const std::string& kernel) const;
  const Network* network_;
  const Machine* machine_;
  const Run* run_;
  int ranks_on_node_;
  int threads_;
  Notes* notes_;
  std::map<std::pair<std::string, Pass>, Kernels> measured_;
  /// Kernels in this precision with these threads and declared work, at as many ranks or the
  /// nearest number.
  Kernels comparable_;
  /// ē for t(1) (first) and t(n) (second) at the low end, the value, the high end.
  std::array<std::array<double, 3>, 3> mean_pressure_{};
  std::optional<Estimate<Seconds>> usual_give_;  ///< empty: measured with no kernel
  std::unique_ptr<const Unfused> unfused_;       ///< where fused kernels were not measured
  std::shared_ptr<SheetTimes> by_sheet_;         ///< of nominal machines of GPUs with a data sheet
  void note_software(const Network& network, DType dtype) const;
};

}  // namespace dlscale::model
