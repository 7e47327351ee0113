#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/roofline/kernels/roofline.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/evidence/time_source.hpp"

namespace dlscale::model {

/// How long the steps of a network take on one rank of `ranks_on_node`. In this order:
///   measured with this kernel, pass, precision, batch and threads, beside as many ranks, or beside
///     the nearest number that was measured;
///   between two measured batches: affine interpolation;
///   outside of them: the nearest one, scaled by the declared work;
///   a layer with its ReLU, measured only without: its parts (unfused.hpp);
///   never measured: the roofline that the measured kernels of this machine span (those beside as
///     many ranks or the nearest number), at the efficiency that kernels of the same kind and pass
///     reach, else of the same pass, else all;
///   nominal machine: the data sheet's roofline, and its launch time.
/// Everything but the first and the last is noted.
///
/// Beside other ranks a step takes
///   t = t(1) · (1 + e ē),   e = √(t(n) / t(1) − 1),   ē = Σ e t(1) / Σ t(1) over all steps,
/// where t(1) was measured on a rank alone and t(n) on n ranks that ran the same kernel at once
/// (e = 0 where t(n) came out below t(1)). What a step loses to another is taken to grow with what
/// each of the two asks of the caches and the memory they share: in proportion to e_i e_j, which
/// t(n) gives for i = j. Ranks drift apart between messages, so that the other is in any of its
/// steps, each for its share of the time. At most t(n) on average (Cauchy–Schwarz). Where only one
/// of t(1), t(n) was measured, that one is taken. [D, derived: our own model, bilinear in demand;
/// not from the literature.] Wrong where ranks run in lock-step, so that all are in the same
/// kernel, which takes t(n); where contention saturates, so that one more demand costs less than
/// the product; and on more ranks than the n that t(n) was measured on, whose demands add up.
///
/// Its interval: the least t for the low ends of all t(n) and the greatest for their high ends,
/// over t(1) at its low end, its value and its high end, with e and ē from these same t(1). So the
/// value lies within, and t(1) counts once: where all steps are alike, t = t(n), whatever t(1) is.
class KernelTimes {
 public:
  /// Throws ConfigError if the machine has no kernel at all in this precision and number of
  /// threads. All arguments must outlive this.
  KernelTimes(const Network& network, const Machine& machine, const Run& run, int ranks_on_node,
              Notes& notes);
  ~KernelTimes();
  KernelTimes(const KernelTimes&) = delete;
  KernelTimes& operator=(const KernelTimes&) = delete;
  [[nodiscard]] Estimate<Seconds> time(Step step) const;
  /// The host's time to give the step to a device that runs beside it: that of the kernel at the
  /// nearest batch and number of ranks; of a kernel it was not measured with, the median of all
  /// (noted). Zero where it was measured with none: on processors, and from data sheets.
  [[nodiscard]] Estimate<Seconds> give(Step step) const;
  /// Where that time comes from.
  [[nodiscard]] TimeSource source(Step step) const;

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
  /// Of these threads and precision, work declared, beside as many ranks or the nearest number.
  Kernels comparable_;
  /// ē for t(1) (first) and t(n) (second) at the low end, the value, the high end.
  std::array<std::array<double, 3>, 3> mean_pressure_{};
  std::optional<Estimate<Seconds>> usual_give_;  ///< none: no kernel was measured with it
  std::unique_ptr<const Unfused> unfused_;       ///< where fused kernels were not measured
};

}  // namespace dlscale::model
