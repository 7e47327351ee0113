#pragma once
#include <functional>
#include <span>

#include "core/units.hpp"

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

/// S(B) = E(B) D / B, iterations with D > 0 samples an epoch; S_min = E_min D / B_crit is never
/// reached.
double steps_to_target(const Convergence& convergence, double batch, double samples);

/// Whether a batch lies within those that it was fitted to.
bool covers(const Convergence& convergence, double batch);

/// The images of ImageNet's training set (ILSVRC 2012).
inline constexpr double imagenet_images = 1281167;

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

/// A number of workers, and what training to the target takes.
struct FastestTraining {
  int workers;
  Seconds time;
};

/// (11.4) the number of workers with the least E(b N) D t_iter(N) / (b N), of those given (≥ 1 of
/// them, each ≥ 1), b ≥ 1 samples a worker: weak scaling, so that more workers need more epochs. Of
/// equal ones the first. `iteration` gives t_iter(N) > 0.
FastestTraining fastest_training(std::span<const int> workers, int batch,
                                 const Convergence& convergence, double samples,
                                 const std::function<Seconds(int)>& iteration);

}  // namespace dlscale::model
