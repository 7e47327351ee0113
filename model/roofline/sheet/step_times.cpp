#include "model/roofline/sheet/step_times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.hpp"
#include "model/roofline/sheet/memory_passes.hpp"
#include "model/roofline/sheet/products.hpp"

namespace dlscale::model::sheet {
namespace {

constexpr double f32_bytes = 4;
/// Multiply-adds that a multiprocessor issues a clock; GPUs with more cores leave some idle.
constexpr double most_issued = 128;
/// A peak in 16 bits above this multiple of that in f32 is one of tensor cores.
constexpr double least_gain = 1.05;
// Passes of an update over the f32 parameters, as update_time() says.
constexpr double momentum_passes = 5;
constexpr double adam_passes = 8;
constexpr double cast_passes = 3;

double kernels_per_tensor(UpdateKernels update) {
  switch (update) {
    case UpdateKernels::fused:
      return 0.1;
    case UpdateKernels::tensor:
      return 2;
    case UpdateKernels::ops:
      return 10;
  }
  fail_expectation("update is an UpdateKernels");
}

bool is_half(DType dtype) {
  return element_bytes(dtype) == 2;
}

Arithmetic plain_cores(const Device& device, DType dtype) {
  const DeviceUnits& units = *device.units;
  Arithmetic on;
  on.units = units.multiprocessors;
  on.peak_clock = units.boost_clock.si();
  on.base_clock = units.base_clock.si();
  on.flops_per_clock = device.peak.at(DType::f32).si() / on.units / on.peak_clock;
  on.issue = std::min(1.0, most_issued * units.multiprocessors / units.cores);
  on.bandwidth = device.memory_bandwidth;
  on.element_bytes = static_cast<double>(element_bytes(dtype));
  return on;
}

Arithmetic tensor_cores(const Device& device, DType dtype) {
  Arithmetic on = plain_cores(device, dtype);
  on.tensor_cores = true;
  on.peak_clock = device.units->tensor_clock.si();
  on.flops_per_clock = device.peak.at(dtype).si() / on.units / on.peak_clock;
  return on;
}

/// The arithmetic that products in a precision may take, ordinary cores first.
std::vector<Arithmetic> arithmetic_in(const Device& device, DType dtype) {
  std::vector<Arithmetic> all{plain_cores(device, dtype)};
  const auto peak = device.peak.find(dtype);
  if (dtype == DType::f32 || peak == device.peak.end()) return all;
  const bool tensor =
      dtype == DType::tf32 || peak->second > least_gain * device.peak.at(DType::f32);
  if (tensor) all.push_back(tensor_cores(device, dtype));
  return all;
}

/// Tensors of parameters: weights, and biases or shifts.
double tensors_of(const Network& network) {
  double tensors = 0;
  for (const Layer& layer : network.layers()) {
    tensors += (layer.weight_count() > 0 ? 1 : 0) + (layer.bias_count() > 0 ? 1 : 0);
  }
  return tensors;
}

/// Launch and overhead of a kernel.
Seconds overhead(const Device& device, const Run& run, const KernelConstants& constants) {
  return (run.launch == Launch::graph ? constants.recorded : 1) *
         (device.launch - fitted_launch + Seconds(constants.kernel_overhead));
}

SecondsPerByte moving(const Device& device, const KernelConstants& constants) {
  return 1 / (constants.memory_efficiency * device.memory_bandwidth);
}

}  // namespace

bool has_kernel_times(const Device& device) {
  return device.kind == DeviceKind::gpu && device.units && device.peak.contains(DType::f32) &&
         device.memory_bandwidth > BytesPerSecond();
}

ComputeTraits traits_for(const Network& network, DType dtype,
                         const std::vector<ComputeRow>& software) {
  return traits_of(software,
                   network.is_over_sequences() ? NetworkFamily::sequences : NetworkFamily::images,
                   is_half(dtype) ? ElementWidth::two_bytes : ElementWidth::four_bytes);
}

StepTimes::StepTimes(const Network& network, const Device& device, const Run& run,
                     const ComputeTraits& traits, const KernelConstants& constants)
    : network_(&network),
      batch_(run.batch),
      software_(software_with(traits)),
      constants_(&constants),
      arithmetic_(arithmetic_in(device, run.dtype)),
      overhead_(overhead(device, run, constants)),
      of_passes_(moving(device, constants)) {
  EXPECT(has_kernel_times(device));
  if (is_half(run.dtype)) {
    of_passes_ = std::pow(constants.old_half, software_.age) * of_passes_;
  }
}

const StepTimes::TimedProduct& StepTimes::timed(const Product& product) {
  const auto known = std::ranges::find(known_, product, &TimedProduct::product);
  if (known != known_.end()) return *known;
  const Seconds never(std::numeric_limits<double>::infinity());
  TimedProduct found{product, never, never};
  for (const Arithmetic& arithmetic : arithmetic_) {
    const Seconds time = product_time(product, arithmetic, software_.age, *constants_);
    const Seconds copies =
        arithmetic.tensor_cores ? layout_time(product, arithmetic, *constants_) : Seconds();
    found.channels_first = std::min(found.channels_first, time + copies);
    found.channels_last = std::min(found.channels_last, time);
  }
  known_.push_back(found);
  return known_.back();
}

Seconds StepTimes::time(Step step, const Software& software) {
  const MemoryPasses passes = passes_of(*network_, step, batch_, software.elementwise);
  Seconds time = Bytes(passes.elements * arithmetic_.front().element_bytes) * of_passes_ +
                 passes.kernels * overhead_;
  for (const Product& one : products_of(*network_, step, batch_)) {
    const TimedProduct& product = timed(one);
    const bool last = software.layout == ImageLayout::channels_last;
    time += (last ? product.channels_last : product.channels_first) + overhead_;
  }
  return time;
}

double StepTimes::doubt(const ComputeTraits& traits) {
  const bool over_sequences = network_->is_over_sequences();
  Software quick = software_;
  quick.elementwise =
      traits.elementwise.value_or(over_sequences ? Elementwise::all : Elementwise::norm_act);
  if (!over_sequences) quick.layout = traits.layout.value_or(ImageLayout::channels_last);
  if (quick == software_) return 0;
  Seconds usual;
  Seconds least;
  for (const std::vector<Step>& steps : {forward_steps(*network_), backward_steps(*network_)}) {
    for (const Step step : steps) {
      usual += time(step);
      least += time(step, quick);
    }
  }
  return std::max(0.0, std::log(usual / least));
}

TimeRange kernel_range(StepTimes& times, const ComputeTraits& traits, DType dtype,
                       const KernelConstants& constants) {
  double terms = constants.interval_always;
  if (is_half(dtype)) terms += constants.interval_half;
  if (times.network().is_over_sequences()) terms += constants.interval_sequences;
  if (software_with(traits).age > 0) terms += constants.interval_old;
  const double scale = std::exp(terms);
  const double doubt = times.doubt(traits);
  const double low = constants.interval_low * scale;
  const double high = constants.interval_high * scale;
  if (all_unknown(traits)) return {std::exp(-std::hypot(low, doubt)), std::exp(high)};
  const double either_way = deviations_of_90 * doubt / 2;
  return {std::exp(-std::hypot(low, either_way)), std::exp(std::hypot(high, either_way))};
}

Seconds update_time(const Network& network, const Device& device, const Run& run,
                    const ComputeTraits& traits, const KernelConstants& constants,
                    Bytes parameters) {
  EXPECT(has_kernel_times(device));
  const Bytes all(f32_bytes * static_cast<double>(network.parameter_count()));
  if (all == Bytes()) return {};
  const double optimiser = network.is_over_sequences() ? adam_passes : momentum_passes;
  const double passes = optimiser + (is_half(run.dtype) ? cast_passes : 0);
  const double kernels =
      tensors_of(network) * (parameters / all) * kernels_per_tensor(software_with(traits).update);
  return passes * parameters * moving(device, constants) +
         kernels * overhead(device, run, constants);
}

Estimate<Seconds> with_range(Seconds time, const TimeRange& range) {
  return {time, range.low * time, range.high * time};
}

}  // namespace dlscale::model::sheet
