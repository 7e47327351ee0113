#pragma once
#include <array>
#include <span>
#include <string_view>

#include "core/base/units.hpp"

namespace dlscale::model {

/// Time of training to its target. Arguments that are not finite or out of range are the
/// caller's bug (EXPECT).

/// Epochs to a target by global batch B: E = E_min (1 + B / B_crit), the same as (S / S_min
/// - 1)(E / E_min - 1) = 1 for steps S [S. McCandlish et al., arXiv:1812.06162, quoted and not
/// checked against its text]. Wrong where the learning rate was not tuned for the batch.
struct Convergence {
  double least_epochs;    ///< E_min > 0, the limit of small batches
  double critical_batch;  ///< B_crit > 0, which doubles the epochs
  double smallest_batch;  ///< range of the fit; beyond it is an extrapolation
  double largest_batch;
};

/// ResNet-50 on ImageNet to 75.9 % top 1: fit_convergence() of the ten means of MLPerf's reference
/// convergence points, within 6.1 % of each, 3.4 % in the mean. [mlcommons/logging,
/// rcp_checker/training_2.0.0/rcps_resnet.json]
inline constexpr Convergence resnet50_imagenet{34.58, 46909, 1632, 67840};

/// Epochs of training with a batch, both > 0.
struct EpochsAt {
  double batch;
  double epochs;
};

/// E_min and B_crit by least squares on relative error, from ≥ 2 different batches. Throws
/// ConfigError where the fitted epochs do not rise with the batch, because then no batch is
/// critical.
Convergence fit_convergence(std::span<const EpochsAt> points);

/// E(B), B > 0.
double epochs_to_target(const Convergence& convergence, double batch);

/// Whether a batch lies within the range of the fit.
bool covers(const Convergence& convergence, double batch);

/// Images in ImageNet's training set (ILSVRC 2012).
inline constexpr double imagenet_images = 1281167;

/// A training with known epochs by batch, and its name.
struct TrainingTarget {
  std::string_view name;
  std::string_view network;  ///< the only network it holds for; names of variants begin with it
  std::string_view reached;
  double samples;  ///< samples of an epoch
  Convergence convergence;
};
inline constexpr std::array training_targets{TrainingTarget{
    "imagenet-75.9", "resnet50", "75.9 % top 1", imagenet_images, resnet50_imagenet}};

/// The parts of a training.
struct Training {
  double epochs = 0;                 ///< > 0; not rounded
  double samples = imagenet_images;  ///< D > 0, samples of an epoch
  double samples_per_s = 0;          ///< > 0, N_g b / t_iter
  Seconds evaluation = {};           ///< one evaluation, ≥ 0
  double evaluations_per_epoch = 1;  ///< ≥ 0
  Seconds start = {};                ///< before the first iteration, ≥ 0
};

/// epochs (D / rate + t_eval f_eval) + t_init.
Seconds time_to_train(const Training& training);

/// Samples a second for training to end within `time`, the inverse of time_to_train(). Throws
/// ConfigError where evaluations and the start alone take that long.
double required_rate(const Training& training, Seconds time);

}  // namespace dlscale::model
