#pragma once
#include <array>
#include <span>
#include <string_view>

#include "core/base/units.hpp"

namespace dlscale::model {

/// How long training takes to reach its target (MODEL 11). Arguments that are not finite or out of
/// their range are the caller's bug (EXPECT).

/// Epochs to a target by global batch B (11.2): E = E_min (1 + B / B_crit), which is the same as
/// (S / S_min - 1)(E / E_min - 1) = 1 for steps S [S. McCandlish et al., arXiv:1812.06162, quoted
/// and not checked against its text]. Wrong where the learning rate was not tuned for the batch.
struct Convergence {
  double least_epochs;    ///< E_min > 0, of small batches
  double critical_batch;  ///< B_crit > 0, at which it takes twice as many
  double smallest_batch;  ///< of those it was fitted to: beyond these it is an extrapolation
  double largest_batch;
};

/// ResNet-50 on ImageNet to 75.9 % top 1: fit_convergence() to the ten means of MLPerf's reference
/// convergence points, which it meets within 6.1 %, 3.4 % in the mean.
/// [mlcommons/logging, rcp_checker/training_2.0.0/rcps_resnet.json]
inline constexpr Convergence resnet50_imagenet{34.58, 46909, 1632, 67840};

/// Of training with a batch, > 0.
struct EpochsAt {
  double batch;
  double epochs;
};

/// E_min and B_crit by least squares on relative error, from ≥ 2 different batches whose epochs
/// rise with them by the fit; throws ConfigError where they do not, since then no batch is
/// critical.
Convergence fit_convergence(std::span<const EpochsAt> points);

/// E(B), B > 0.
double epochs_to_target(const Convergence& convergence, double batch);

/// Whether a batch lies within those that it was fitted to.
bool covers(const Convergence& convergence, double batch);

/// The images of ImageNet's training set (ILSVRC 2012).
inline constexpr double imagenet_images = 1281167;

/// A training whose epochs by batch are known, and what it is asked for by.
struct TrainingTarget {
  std::string_view name;
  std::string_view network;  ///< the one network it is known for; names of variants begin with it
  std::string_view reached;
  double samples;  ///< of an epoch
  Convergence convergence;
};
inline constexpr std::array training_targets{TrainingTarget{
    "imagenet-75.9", "resnet50", "75.9 % top 1", imagenet_images, resnet50_imagenet}};

/// What training consists of.
struct Training {
  double epochs = 0;                 ///< > 0; not rounded
  double samples = imagenet_images;  ///< D > 0, of an epoch
  double samples_per_s = 0;          ///< > 0, N_g b / t_iter
  Seconds evaluation = {};           ///< of one, ≥ 0
  double evaluations_per_epoch = 1;  ///< ≥ 0
  Seconds start = {};                ///< before the first iteration, ≥ 0
};

/// (11.1) epochs (D / rate + t_eval f_eval) + t_init.
Seconds time_to_train(const Training& training);

/// The samples a second that training must reach to end in `time`, the reverse of (11.1). Throws
/// ConfigError where evaluations and the start alone take that long.
double required_rate(const Training& training, Seconds time);

}  // namespace dlscale::model
