#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.hpp"
#include "model/published/baselines/baselines.hpp"

namespace dlscale::model {
namespace {

using cases::CasePrediction;
using cases::GivenPoint;
using cases::ScalingCase;

/// The least share of the given time that is computing, however long the ring takes at its nominal
/// bandwidth.
constexpr double least_computing = 0.1;

// Here and below, roundings follow the published definition step by step. Trainings with
// predictions equal to the last bit share a rank in the scoring.

/// Computing time grows with the batch of a GPU.
Seconds scaled(Seconds computing, const ScalingCase& training) {
  return computing * training.batch_per_gpu / training.given.front().batch_per_gpu;
}

/// Throughput proportional to the number of GPUs:
///   t = t₀ · b / b₀
/// t₀, b₀: time and batch per GPU of the given point. Wrong wherever communication is not hidden.
Seconds linear(const ScalingCase& training) {
  return scaled(training.given.front().iteration(), training);
}

/// Computing, then a ring at nominal bandwidth, without overlap:
///   t = t_c · b / b₀ + ring(p),  t_c = max(t₀ − ring(p₀), t₀ / 10)
/// Wrong where communication is hidden, or slower than its data sheet.
Seconds bsp_ring(const ScalingCase& training) {
  const GivenPoint& given = training.given.front();
  const Seconds t0 = given.iteration();
  const Seconds computing = std::max(t0 - nominal_ring(training, given.gpus), least_computing * t0);
  return scaled(computing, training) + nominal_ring(training, training.gpus);
}

/// The whole gradient as one message that the backward pass hides as far as it can:
///   t = t_c/3 + max(2 t_c/3, ring(p)),  t_f : t_b = 1 : 2
/// t_c solves the equation at the given point, then grows with the batch. Wrong where messages are
/// many and small, or the last begins late.
Seconds wfbp_ideal(const ScalingCase& training) {
  const GivenPoint& given = training.given.front();
  const Seconds t0 = given.iteration();
  const Seconds ring = nominal_ring(training, given.gpus);
  const bool is_hidden = 2.0 / 3.0 * t0 >= ring;
  const Seconds at_given = is_hidden ? t0 : std::max(3.0 * (t0 - ring), least_computing * t0);
  const double batches = training.batch_per_gpu / given.batch_per_gpu;
  const Seconds computing = at_given * batches;
  return computing / 3.0 + std::max(2.0 * computing / 3.0, nominal_ring(training, training.gpus));
}

constexpr std::array all_of_trainings{
    TrainingBaseline{"linear", "throughput proportional to the number of GPUs", linear},
    TrainingBaseline{"bsp_ring", "computing, then a ring at nominal bandwidth", bsp_ring},
    TrainingBaseline{"wfbp_ideal", "a ring at nominal bandwidth, ideally overlapped", wfbp_ideal}};

CasePrediction predict_training(const TrainingBaseline& baseline, const ScalingCase& training) {
  if (training.given.empty()) {
    return cases::not_covered(training.id, "no measured point is given to scale from");
  }
  const double throughput = (training.global_batch / baseline.iteration(training)).si();
  EXPECT(std::isfinite(throughput) && throughput > 0);
  CasePrediction prediction;
  prediction.id = training.id;
  prediction.values = {cases::PredictedValue{throughput, throughput * (1 - baseline_interval),
                                             throughput * (1 + baseline_interval)}};
  return prediction;
}

}  // namespace

Seconds nominal_ring(const ScalingCase& training, int p) {
  EXPECT(p >= 1);
  if (p < 2) return {};
  const Bytes gradient =
      static_cast<double>(training.network.parameters) * training.gradient_element;
  BytesPerSecond bandwidth = training.cluster.intra_node.bandwidth;
  if (p > training.gpus_per_node && training.cluster.inter_node) {
    const BytesPerSecond between = training.cluster.inter_node->bandwidth;
    bandwidth = training.gpus_per_node > 1 ? std::min(bandwidth, between) : between;
  }
  return 2.0 * (p - 1) / p * gradient / bandwidth;
}

std::span<const TrainingBaseline> training_baselines() {
  return all_of_trainings;
}

std::vector<CasePrediction> predict(const TrainingBaseline& baseline,
                                    std::span<const ScalingCase> trainings) {
  std::vector<CasePrediction> predictions;
  predictions.reserve(trainings.size());
  for (const ScalingCase& training : trainings) {
    predictions.push_back(predict_training(baseline, training));
  }
  return predictions;
}

}  // namespace dlscale::model
