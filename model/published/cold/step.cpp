#include "model/published/cold/step.hpp"

#include <vector>

#include "core/network/step.hpp"

namespace dlscale::model::cold {
namespace {

/// Bytes that adding the f32 gradient of a parameter to a sum reads and writes.
constexpr double bytes_of_sum = 12;

Seconds sum_of(sheet::StepTimes& times, const std::vector<Step>& steps) {
  Seconds sum;
  for (const Step step : steps) sum += times.time(step);
  return sum;
}

}  // namespace

OneGpuStep one_gpu_step(const ColdTraining& training, const sheet::KernelConstants& constants) {
  const Network& network = *training.network;
  sheet::StepTimes times(network, training.device, training.run, training.traits, constants);
  const double scale = training.micro_batches * training.partial;
  const auto parameters = static_cast<double>(network.parameter_count());
  OneGpuStep step;
  step.forward = scale * sum_of(times, forward_steps(network));
  step.backward = scale * sum_of(times, backward_steps(network));
  constexpr double f32 = 4;
  step.update = sheet::update_time(network, training.device, training.run, training.traits,
                                   constants, Bytes(f32 * parameters)) +
                Bytes(bytes_of_sum * (training.micro_batches - 1) * parameters) /
                    (constants.memory_efficiency * training.device.memory_bandwidth);
  step.range = sheet::kernel_range(times, training.traits, training.run.dtype, constants);
  return step;
}

}  // namespace dlscale::model::cold
