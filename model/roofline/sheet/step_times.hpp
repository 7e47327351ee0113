#pragma once
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/compute_traits.hpp"
#include "core/run/run.hpp"
#include "model/fits/piecewise.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "model/roofline/sheet/memory_passes.hpp"
#include "model/roofline/sheet/product_time.hpp"
#include "model/roofline/sheet/products.hpp"

namespace dlscale::model::sheet {

/// Launch of the devices that the overhead of a kernel was fitted to, as configs/clusters has it.
inline constexpr Seconds fitted_launch{3.8e-6};

/// Whether the times of kernels on a device follow from its data sheet by this model: it is a GPU
/// whose units and clocks are known. Others have the roofline at full peak.
bool has_kernel_times(const Device& device);

/// The kind of a network.
NetworkFamily family_of(const Network& network);

/// The traits of software by its rows, for the training of a network in a precision. All tokens of
/// the network are computed.
ComputeTraits traits_for(const Network& network, DType dtype,
                         const std::vector<ComputeRow>& software);

/// Times of the steps of a training on a GPU, by its data sheet and what software does:
///   t = Σ products (min over arithmetic (product_time() + layout_time()) + o)
///     + passes · s · old_half^a / (e_m B) + kernels · o
/// with o the overhead of a kernel, s the bytes of an element, and a the age of libraries in 16
/// bits, else 0. The overhead includes the launch of the device. Products of tf32 and of 16 bits
/// take tensor cores or ordinary ones, and channels-first layouts copy images for tensor cores.
/// Where a trait is unknown, the software computes in one of several ways: the sum of all steps is
/// then the geometric mean of theirs, in which a step has its mean share. Kernels of a recorded
/// graph have less overhead. [derived from the parts; constants: configs/models/kernels.yaml]
/// Wrong where the host launches kernels more slowly than the device does their work.
class StepTimes {
 public:
  /// Requires has_kernel_times(), a peak in the precision (f16 without one: in f32), batch ≥ 1. The
  /// network and the constants must outlive this.
  StepTimes(const Network& network, const Device& device, const Run& run,
            const ComputeTraits& traits, const KernelConstants& constants);
  /// From now on, times are by other constants. Keeps the counted work. They must outlive this.
  void take(const KernelConstants& constants);
  /// Time of a step of the network.
  [[nodiscard]] Seconds time(Step step);
  /// Logarithm, ≥ 0, of times that differ by what is not known of the software: half of the largest
  /// ratio of its ways; if nothing of it is stated, the iteration over the quickest way.
  [[nodiscard]] double doubt() const { return doubt_; }
  [[nodiscard]] const Network& network() const { return *network_; }

 private:
  /// Time of a product by the layout of images, and by direct algorithms.
  struct ProductTimes {
    Seconds channels_first;
    Seconds channels_last;
    Seconds direct;
  };
  /// Work of a step: places in step_products_, and in step_passes_ one for each way.
  struct StepWork {
    bool counted = false;
    std::size_t products = 0;
    std::size_t product_count = 0;
    std::size_t passes = 0;
  };
  struct ProductHash {
    std::size_t operator()(const Product& product) const;
  };

  [[nodiscard]] StepWork counted(Step step);
  [[nodiscard]] std::size_t place_of(const Product& product);
  [[nodiscard]] ProductTimes timed(const Product& product) const;
  const StepWork& work_of(Step step);
  [[nodiscard]] Seconds time(const StepWork& work, std::size_t way) const;
  [[nodiscard]] std::size_t nominal_ways() const;
  void find_scale();

  const Network* network_;
  Device device_;
  Run run_;
  MemoryPassCounter passes_;
  bool stated_;
  std::vector<ComputeTraits> ways_;  ///< of the software; then the quickest, if nothing is stated
  bool may_be_direct_;               ///< one of the ways has only direct algorithms
  std::vector<Arithmetic> arithmetic_;  ///< that products may take
  std::vector<Product> products_;
  std::unordered_map<Product, std::size_t, ProductHash> places_;  ///< in products_
  std::vector<StepWork> work_;                                    ///< by layer and pass
  std::vector<std::size_t> step_products_;                        ///< places in products_
  std::vector<MemoryPasses> step_passes_;

  // By the constants:
  const KernelConstants* constants_ = nullptr;
  Seconds overhead_;  ///< of a kernel
  SecondsPerByte of_passes_;
  std::vector<ProductTimes> times_;
  double scale_ = 1;  ///< geometric mean of the ways over their mean
  double doubt_ = 0;
};

/// Factors on a time: 5 % of trainings took less than `low` times it, 5 % more than `high` times.
struct TimeRange {
  double low = 1;
  double high = 1;
};

/// The 90 % interval of all times of a training by this model, whose errors the steps share:
///   e^(± hypot(q s, 1.645 d)),  q = low or high,
///   s = e^(always + half [16 bits] + sequences [with attention] + old [age > 0])
/// with the constants of KernelConstants and d = StepTimes::doubt(). Where nothing of the software
/// is stated, the usual software counts, and other software may only be quicker: e^(-hypot(q s, d))
/// and e^(q s). [quantiles of the logarithm of measured over predicted times, each source by a fit
/// without it] Wrong where the software differs from its traits.
TimeRange kernel_range(const StepTimes& times, const ComputeTraits& traits, DType dtype,
                       const KernelConstants& constants);

/// Parameters of an update, and the tensors that they are in.
struct UpdateWork {
  double parameters = 0;
  double tensors = 0;
};

/// All parameters of a network. Tensors: weights, and biases or shifts.
UpdateWork update_work(const Network& network);

/// Time of an update:
///   t = P (4 passes + 12 [16 bits, and weights are kept in f32]) / (e_m B)
///     + tensors · kernels a tensor · o
/// for P parameters. Passes over them: none 0, accumulating gradients 4, SGD 3 (reads weights and
/// gradients, writes weights), with momentum 5, Adam 8, LAMB 10. 16 bits add the cast gradients and
/// weights. Kernels a tensor are constants by ComputeTraits::update; none 0, accumulating as by
/// tensor. [derived] Requires has_kernel_times().
Seconds update_time(const UpdateWork& work, const Device& device, const Run& run,
                    const ComputeTraits& traits, const KernelConstants& constants);

/// Time of the update of `parameters` bytes of the f32 parameters of a network, with their share of
/// its tensors.
Seconds update_time(const Network& network, const Device& device, const Run& run,
                    const ComputeTraits& traits, const KernelConstants& constants,
                    Bytes parameters);

/// Time in which gradients of all but one of an iteration's `micro_batches` ≥ 1 are added to those
/// of before, which reads both and writes one: 12 P / (e_m B) each. [derived]
Seconds accumulation_time(const Network& network, const Device& device,
                          const KernelConstants& constants, int micro_batches);

/// A time with an interval.
Estimate<Seconds> with_range(Seconds time, const TimeRange& range);

}  // namespace dlscale::model::sheet
