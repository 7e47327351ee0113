#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/published/kernels/kernel_table.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"

namespace dlscale::model::published {

/// Time of a kernel that runs alone, one after the other on a GPU:
///   t = min over the arithmetic of the GPU (product_time() + layout_time()) + t0
/// with the load of its board and today's libraries. Images of convolutions are channels-first.
/// [model/roofline/sheet/product_time.hpp]
Seconds kernel_time(const KernelSample& sample, const sheet::KernelConstants& constants);

/// Errors of the times of a kind of kernels on one GPU in one precision.
struct KernelScore {
  std::string gpu;     ///< name of its data sheet
  std::string kernel;  ///< "product" or "convolution forward", "… data", "… weights"
  DType dtype = DType::f32;
  std::size_t cases = 0;
  double median = 0;   ///< of |t / measured - 1|
  double mean = 0;     ///< of the same
  double bias = 0;     ///< median of t / measured - 1
  double covered = 0;  ///< share of measured times in the interval, of products
};

/// Constants of products alone, fitted to products, and how they do where they were not fitted.
struct KernelFit {
  std::map<std::string, FittedConstant, std::less<>> fitted;  ///< by key, to all GPUs
  std::vector<KernelScore> scores;  ///< each GPU by the fit without its chip, in order of names
};

/// Fits fitted_to_kernels() to the products among the samples, all GPUs and precisions alike:
///   least Σ_g n / n_g Σ 2 (√(1 + z²) - 1) + Σ (ln(p / prior) / spread)²,  z = ln(t / t_measured) /
///   0.1
/// with n = 60 samples for each group g. Priors are those of `file`. Intervals of constants are
/// 90 % by the jackknife over chips. No constant is fitted to convolutions, which take those of the
/// same fit and of trainings. The interval of a product on a GPU lies between the quantiles of 5
/// and 95 % of ln(measured / t) on GPUs of other chips, alike, each by a fit without its chip and
/// without the chip that is judged. `progress` is called with fits done and all of them. Throws
/// ConfigError for products of fewer than three chips.
KernelFit fit_kernels(std::span<const KernelSample> samples, const sheet::KernelFile& file,
                      const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace dlscale::model::published
