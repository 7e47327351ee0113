#pragma once
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/compute_traits.hpp"
#include "core/run/run.hpp"
#include "model/fits/piecewise.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "model/roofline/sheet/product_time.hpp"
#include "model/roofline/sheet/software.hpp"

namespace dlscale::model::sheet {

/// Launch of the devices that the overhead of a kernel was fitted to, as configs/clusters has it.
inline constexpr Seconds fitted_launch{3.8e-6};

/// Whether the times of kernels on a device follow from its data sheet by this model: it is a GPU
/// whose units and clocks are known. Others have the roofline at full peak.
bool has_kernel_times(const Device& device);

/// The traits of software by its rows, for the training of a network in a precision.
ComputeTraits traits_for(const Network& network, DType dtype,
                         const std::vector<ComputeRow>& software);

/// Times of the steps of a training on a GPU, by its data sheet and what software does:
///   t = Σ products (min over arithmetic (product_time() + layout_time()) + o)
///     + passes · s · old_half^a / (e_m B) + kernels · o
/// with o the overhead of a kernel, s the bytes of an element, and a the age of libraries in 16
/// bits, else 0. The overhead includes the launch of the device. Products of tf32 and of 16 bits
/// take tensor cores or ordinary ones, and channels-first layouts copy images for tensor cores.
/// Kernels of a recorded graph have less overhead. [derived from the parts; constants:
/// configs/models/kernels.yaml]
/// Wrong where the host launches kernels more slowly than the device does their work.
class StepTimes {
 public:
  /// Requires has_kernel_times(), a peak in the precision (f16 without one: in f32), batch ≥ 1. The
  /// network and the constants must outlive this.
  StepTimes(const Network& network, const Device& device, const Run& run,
            const ComputeTraits& traits, const KernelConstants& constants);
  /// Time of a step of the network.
  [[nodiscard]] Seconds time(Step step) { return time(step, software_); }
  /// Logarithm, >= 0, of the iteration's time over that with the quickest values of the traits that
  /// are not known: channels-last images, and kernels that take in element-wise layers.
  [[nodiscard]] double doubt(const ComputeTraits& traits);
  [[nodiscard]] const Network& network() const { return *network_; }

 private:
  /// A product and its time, by layout.
  struct TimedProduct {
    Product product;
    Seconds channels_first;
    Seconds channels_last;
  };
  [[nodiscard]] Seconds time(Step step, const Software& software);
  const TimedProduct& timed(const Product& product);

  const Network* network_;
  int batch_;
  Software software_;
  const KernelConstants* constants_;
  std::vector<Arithmetic> arithmetic_;  ///< that products may take
  Seconds overhead_;                    ///< of a kernel
  SecondsPerByte of_passes_;
  std::vector<TimedProduct> known_;  ///< networks have few different products
};

/// Whether nothing is known of how the software computes.
inline bool all_unknown(const ComputeTraits& traits) {
  return !traits.layout && !traits.elementwise && !traits.update && !traits.libraries;
}

/// Factors on a time: 5 % of trainings took less than `low` times it, 5 % more than `high` times.
struct TimeRange {
  double low = 1;
  double high = 1;
};

/// The 90 % interval of all times of a training by this model, whose errors the steps share:
///   e^(± hypot(q s, 1.645 D / 2)),  q = low or high,
///   s = e^(always + half [16 bits] + sequences [over sequences] + old [age > 0])
/// with the constants of KernelConstants and D = StepTimes::doubt(). Where no trait is known, the
/// usual software counts, and other software may only be quicker: e^(-hypot(q s, D)) and e^(q s).
/// [quantiles of the logarithm of measured over predicted times, each source by a fit without it]
/// Wrong where the software differs from its traits.
TimeRange kernel_range(StepTimes& times, const ComputeTraits& traits, DType dtype,
                       const KernelConstants& constants);

/// Time of the update of `parameters` bytes of f32 parameters of a network:
///   t = P (4 passes + 12 [16 bits]) / (e_m B) + tensors · kernels a tensor · o
/// for P parameters and their share of the tensors. SGD with momentum takes 5 passes: it reads
/// weights, gradients and momenta, and writes weights and momenta. Adam, the usual over sequences,
/// takes 8. 16 bits add the cast gradients and weights. [derived]
/// Requires has_kernel_times().
Seconds update_time(const Network& network, const Device& device, const Run& run,
                    const ComputeTraits& traits, const KernelConstants& constants,
                    Bytes parameters);

/// A time with an interval.
Estimate<Seconds> with_range(Seconds time, const TimeRange& range);

}  // namespace dlscale::model::sheet
