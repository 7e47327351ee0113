#include "model/sgd_iter/time_to_train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

bool is_time(Seconds value) {
  return std::isfinite(value.si()) && value >= Seconds();
}

void expect_training(const Training& training) {
  EXPECT(is_positive(training.epochs) && is_positive(training.samples));
  EXPECT(is_time(training.evaluation) && is_time(training.start));
  EXPECT(std::isfinite(training.evaluations_per_epoch) && training.evaluations_per_epoch >= 0);
}

Seconds without_iterations(const Training& training) {
  return training.epochs * training.evaluations_per_epoch * training.evaluation + training.start;
}

}  // namespace

/// The normal equations of Σ ((E_min + c B) / E - 1)², E_min and c = E_min / B_crit.
Convergence fit_convergence(std::span<const EpochsAt> points) {
  EXPECT(points.size() >= 2);
  double weights = 0;
  double batches = 0;
  double epochs = 0;
  double squares = 0;
  double products = 0;
  for (const auto& [batch, count] : points) {
    EXPECT(is_positive(batch) && is_positive(count));
    const double weight = 1 / (count * count);
    weights += weight;
    batches += weight * batch;
    epochs += weight * count;
    squares += weight * batch * batch;
    products += weight * batch * count;
  }
  const auto [smallest, largest] =
      std::minmax_element(points.begin(), points.end(),
                          [](const EpochsAt& a, const EpochsAt& b) { return a.batch < b.batch; });
  EXPECT(smallest->batch < largest->batch);
  const double slope =
      (weights * products - batches * epochs) / (weights * squares - batches * batches);
  const double least = (epochs - slope * batches) / weights;
  if (!is_positive(slope) || !is_positive(least)) {
    throw ConfigError(
        fmt::format("the epochs to the target of {} batches from {} to {} do not rise with the "
                    "batch, so no critical batch can be found. Give trainings with larger batches.",
                    points.size(), smallest->batch, largest->batch));
  }
  return {least, least / slope, smallest->batch, largest->batch};
}

double epochs_to_target(const Convergence& convergence, double batch) {
  EXPECT(is_positive(convergence.least_epochs) && is_positive(convergence.critical_batch));
  EXPECT(is_positive(batch));
  return convergence.least_epochs * (1 + batch / convergence.critical_batch);
}

bool covers(const Convergence& convergence, double batch) {
  return batch >= convergence.smallest_batch && batch <= convergence.largest_batch;
}

Seconds time_to_train(const Training& training) {
  expect_training(training);
  EXPECT(is_positive(training.samples_per_s));
  return Seconds(training.epochs * training.samples / training.samples_per_s) +
         without_iterations(training);
}

double required_rate(const Training& training, Seconds time) {
  expect_training(training);
  EXPECT(is_time(time));
  const Seconds iterating = time - without_iterations(training);
  if (iterating <= Seconds()) {
    throw ConfigError(fmt::format(
        "evaluations and the start take {:.4g} s alone, so that no training ends in {:.4g} s. "
        "Evaluate less often, or allow more time.",
        without_iterations(training).si(), time.si()));
  }
  return training.epochs * training.samples / iterating.si();
}

}  // namespace dlscale::model
