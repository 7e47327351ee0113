#include "model/published/cold/step.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/network/step.hpp"
#include "model/fits/piecewise.hpp"

namespace dlscale::model::cold {
namespace {

Seconds sum_of(sheet::StepTimes& times, const std::vector<Step>& steps) {
  Seconds sum;
  for (const Step step : steps) sum += times.time(step);
  return sum;
}

Seconds geometric_mean(const std::vector<OneGpuStep>& steps, Seconds OneGpuStep::*part) {
  double logs = 0;
  for (const OneGpuStep& step : steps) {
    if (!(step.*part > Seconds())) return {};
    logs += std::log((step.*part).si());
  }
  return Seconds(std::exp(logs / static_cast<double>(steps.size())));
}

/// Takes the interval of a step on one of several boards.
void take_boards(const std::vector<OneGpuStep>& steps, OneGpuStep& step) {
  const auto [least, most] = std::ranges::minmax(steps, {}, &OneGpuStep::total);
  const double doubt = std::log(most.total() / least.total()) / 2;
  const double end = deviations_of_90 * doubt;
  const sheet::TimeRange& range = steps.front().range;
  step.range = {std::exp(-std::hypot(std::log(range.low), end)),
                std::exp(std::hypot(std::log(range.high), end))};
  step.doubt = std::hypot(steps.front().doubt, doubt);
}

}  // namespace

OneGpuTimes::OneGpuTimes(ColdTraining training)
    : training_(std::move(training)),
      constants_(std::make_unique<sheet::KernelConstants>(sheet::nominal_constants())),
      forward_(forward_steps(*training_.network)),
      backward_(backward_steps(*training_.network)) {
  for (const Device& device : training_.devices) {
    times_.emplace_back(*training_.network, device, training_.run, training_.traits, *constants_);
  }
}

OneGpuStep OneGpuTimes::step_on(std::size_t board, const sheet::KernelConstants& constants) {
  const Network& network = *training_.network;
  const Device& device = training_.devices[board];
  sheet::StepTimes& times = times_[board];
  times.take(*constants_);
  const double scale = training_.micro_batches * training_.partial;
  OneGpuStep step;
  step.forward = scale * sum_of(times, forward_);
  step.backward = scale * sum_of(times, backward_);
  step.update = sheet::update_time(sheet::update_work(network), device, training_.run,
                                   training_.traits, constants) +
                sheet::accumulation_time(network, device, constants,
                                         static_cast<int>(training_.micro_batches));
  step.range = sheet::kernel_range(times, training_.traits, training_.run.dtype, constants);
  step.doubt = times.doubt();
  return step;
}

OneGpuStep OneGpuTimes::step(const sheet::KernelConstants& constants) {
  *constants_ = constants;
  std::vector<OneGpuStep> steps;
  for (std::size_t board = 0; board < times_.size(); ++board) {
    steps.push_back(step_on(board, constants));
  }
  if (steps.size() == 1) return steps.front();
  OneGpuStep step;
  for (Seconds OneGpuStep::*part :
       {&OneGpuStep::forward, &OneGpuStep::backward, &OneGpuStep::update}) {
    step.*part = geometric_mean(steps, part);
  }
  take_boards(steps, step);
  return step;
}

}  // namespace dlscale::model::cold
