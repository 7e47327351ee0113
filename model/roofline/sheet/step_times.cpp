#include "model/roofline/sheet/step_times.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <variant>

#include "core/base/error.hpp"
#include "model/roofline/sheet/arithmetic.hpp"
#include "model/roofline/sheet/products.hpp"
#include "model/roofline/sheet/ways.hpp"

namespace dlscale::model::sheet {
namespace {

constexpr double f32_bytes = 4;
/// Bytes of f32 a parameter that a pass, a cast of gradients and weights, and the addition of
/// gradients read and write.
constexpr double pass_bytes = 4;
constexpr double cast_bytes = 12;
constexpr double accumulation_bytes = 12;

double passes_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::none:
      return 0;
    case Optimizer::accumulate:
      return 4;
    case Optimizer::sgd:
      return 3;
    case Optimizer::momentum:
      return 5;
    case Optimizer::adam:
      return 8;
    case Optimizer::lamb:
      return 10;
  }
  fail_expectation("optimizer is an Optimizer");
}

double kernels_per_tensor(const ComputeTraits& traits, const KernelConstants& constants) {
  if (traits.optimizer == Optimizer::none) return 0;
  if (traits.optimizer == Optimizer::accumulate) return constants.tensor_updates;
  switch (traits.update) {
    case UpdateKernels::fused:
      return constants.fused_updates;
    case UpdateKernels::tensor:
      return constants.tensor_updates;
    case UpdateKernels::ops:
      return constants.operator_updates;
  }
  fail_expectation("update is an UpdateKernels");
}

constexpr std::size_t passes_of_a_layer = static_cast<std::size_t>(Pass::accumulate) + 1;

bool is_half(DType dtype) {
  return element_bytes(dtype) == 2;
}

/// A linear product of which only a share of the rows is computed.
Product with_rows(Product product, double share) {
  if (product.pass == Pass::backward_filter) {
    product.k *= share;
    product.channels *= share;
  } else {
    product.m *= share;
  }
  const double operands = product.m * product.k + product.k * product.n;
  product.elements = product.groups * (operands + product.m * product.n);
  return product;
}

bool is_direct(const ComputeTraits& way) {
  return way.search == AlgorithmSearch::direct;
}

bool reads_input(const Network& network, const Layer& layer) {
  return !layer.inputs.empty() &&
         std::holds_alternative<Input>(network.layer(layer.inputs.front()).kind);
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

NetworkFamily family_of(const Network& network) {
  return network.has_attention() ? NetworkFamily::transformer : NetworkFamily::cnn;
}

ComputeTraits traits_for(const Network& network, DType dtype,
                         const std::vector<ComputeRow>& software) {
  const ElementWidth width = is_half(dtype) ? ElementWidth::two_bytes : ElementWidth::four_bytes;
  ComputeTraits traits = traits_of(software, {family_of(network), width, network.name()});
  traits.tokens = 1;
  return traits;
}

StepTimes::StepTimes(const Network& network, const Device& device, const Run& run,
                     const ComputeTraits& traits, const KernelConstants& constants)
    : network_(&network),
      device_(device),
      run_(run),
      passes_(network, run.batch),
      stated_(traits.stated),
      ways_(ways_of(traits, family_of(network))),
      may_be_direct_(std::ranges::any_of(ways_, is_direct)),
      arithmetic_(arithmetic_in(device, run.dtype)),
      work_(network.layers().size() * passes_of_a_layer) {
  EXPECT(has_kernel_times(device));
  if (!stated_) ways_.push_back(quickest_way(traits, family_of(network)));
  take(constants);
}

std::size_t StepTimes::nominal_ways() const {
  return stated_ ? ways_.size() : ways_.size() - 1;
}

void StepTimes::take(const KernelConstants& constants) {
  constants_ = &constants;
  overhead_ = overhead(device_, run_, constants);
  of_passes_ = moving(device_, constants);
  if (is_half(run_.dtype)) {
    of_passes_ = std::pow(constants.old_half, age_of(ways_.front(), *constants_)) * of_passes_;
  }
  times_.clear();
  for (const Product& product : products_) times_.push_back(timed(product));
  find_scale();
}

/// The iteration of each way, from which scale and doubt follow; one way has neither.
void StepTimes::find_scale() {
  if (stated_ && ways_.size() == 1) return;
  std::vector<Seconds> iterations(ways_.size());
  for (const auto& steps : {forward_steps(*network_), backward_steps(*network_)}) {
    for (const Step step : steps) {
      const StepWork& work = work_of(step);
      for (std::size_t way = 0; way < ways_.size(); ++way) iterations[way] += time(work, way);
    }
  }
  std::vector<double> logs;
  double sum = 0;
  double logarithms = 0;
  for (const Seconds all : iterations) {
    logs.push_back(std::log(all.si()));
    if (logs.size() > nominal_ways()) continue;
    sum += all.si();
    logarithms += logs.back();
  }
  const auto count = static_cast<double>(nominal_ways());
  scale_ = count == 1 ? 1 : std::exp(logarithms / count) / (sum / count);
  const auto [least, most] = std::ranges::minmax(logs);
  doubt_ = stated_ ? (most - least) / 2 : std::max(0.0, logarithms / count - logs.back());
}

std::size_t StepTimes::ProductHash::operator()(const Product& product) const {
  constexpr std::size_t odd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  std::size_t all = static_cast<std::size_t>(product.pass);
  for (const double size : {product.m, product.n, product.k, product.elements}) {
    all = (all ^ std::hash<double>()(size)) * odd;
  }
  return all ^ (all >> 32);
}

/// Times by the better kind of arithmetic.
StepTimes::ProductTimes StepTimes::timed(const Product& product) const {
  const double age = age_of(ways_.front(), *constants_);
  const Seconds never(std::numeric_limits<double>::infinity());
  ProductTimes found{never, never, never};
  for (const Arithmetic& arithmetic : arithmetic_) {
    const Seconds time = product_time(product, arithmetic, age, *constants_);
    const Seconds copies =
        arithmetic.tensor_cores ? layout_time(product, arithmetic, *constants_) : Seconds();
    found.channels_first = std::min(found.channels_first, time + copies);
    found.channels_last = std::min(found.channels_last, time);
  }
  if (may_be_direct_) {
    Product direct = product;
    direct.winograd = 0;
    found.direct = product_time(direct, arithmetic_.front(), age, *constants_);
  }
  return found;
}

std::size_t StepTimes::place_of(const Product& product) {
  const auto [found, is_new] = places_.try_emplace(product, products_.size());
  if (is_new) {
    products_.push_back(product);
    times_.push_back(timed(product));
  }
  return found->second;
}

StepTimes::StepWork StepTimes::counted(Step step) {
  const Layer& layer = network_->layer(step.layer);
  StepWork work{true, step_products_.size(), 0, step_passes_.size()};
  const double rows = passes_.computed_rows(step.layer, ways_.front());
  const auto count = [&](Step of) {
    for (const Product& product : products_of(*network_, of, run_.batch)) {
      if (rows == 1) step_products_.push_back(place_of(product));
      if (rows > 0 && rows < 1) step_products_.push_back(place_of(with_rows(product, rows)));
    }
  };
  count(step);
  if (step.pass == Pass::backward_filter && ways_.front().input_gradient &&
      reads_input(*network_, layer)) {
    count({step.layer, Pass::backward_data});
  }
  work.product_count = step_products_.size() - work.products;
  for (const ComputeTraits& way : ways_) step_passes_.push_back(passes_.count(step, way));
  return work;
}

const StepTimes::StepWork& StepTimes::work_of(Step step) {
  StepWork& work =
      work_[step.layer.index() * passes_of_a_layer + static_cast<std::size_t>(step.pass)];
  if (!work.counted) work = counted(step);
  return work;
}

Seconds StepTimes::time(const StepWork& work, std::size_t way) const {
  const ComputeTraits& traits = ways_[way];
  const double bytes = traits.float_math ? f32_bytes : arithmetic_.front().element_bytes;
  const MemoryPasses& passes = step_passes_[work.passes + way];
  Seconds time = Bytes(passes.elements * bytes) * of_passes_ + passes.kernels * overhead_;
  const bool direct = is_direct(traits);
  const bool last = traits.layout == ImageLayout::channels_last;
  for (std::size_t i = 0; i < work.product_count; ++i) {
    const ProductTimes& product = times_[step_products_[work.products + i]];
    time += direct ? product.direct : last ? product.channels_last : product.channels_first;
    time += overhead_;
  }
  return time;
}

Seconds StepTimes::time(Step step) {
  const StepWork& work = work_of(step);
  Seconds sum;
  for (std::size_t way = 0; way < nominal_ways(); ++way) sum += time(work, way);
  return scale_ / static_cast<double>(nominal_ways()) * sum;
}

TimeRange kernel_range(const StepTimes& times, const ComputeTraits& traits, DType dtype,
                       const KernelConstants& constants) {
  double terms = constants.interval_always;
  if (is_half(dtype)) terms += constants.interval_half;
  if (times.network().has_attention()) terms += constants.interval_sequences;
  if (age_of(traits, constants) > 0) terms += constants.interval_old;
  const double scale = std::exp(terms);
  const double low = constants.interval_low * scale;
  const double high = constants.interval_high * scale;
  if (!traits.stated) return {std::exp(-std::hypot(low, times.doubt())), std::exp(high)};
  const double doubt = deviations_of_90 * times.doubt();
  return {std::exp(-std::hypot(low, doubt)), std::exp(std::hypot(high, doubt))};
}

UpdateWork update_work(const Network& network) {
  UpdateWork work;
  work.parameters = static_cast<double>(network.parameter_count());
  for (const Layer& layer : network.layers()) {
    work.tensors += (layer.weight_count() > 0 ? 1 : 0) + (layer.bias_count() > 0 ? 1 : 0);
  }
  return work;
}

Seconds update_time(const UpdateWork& work, const Device& device, const Run& run,
                    const ComputeTraits& traits, const KernelConstants& constants) {
  EXPECT(has_kernel_times(device));
  const bool casts = is_half(run.dtype) && traits.master_weights;
  const double bytes = passes_of(traits.optimizer) * pass_bytes + (casts ? cast_bytes : 0);
  return Bytes(bytes * work.parameters) * moving(device, constants) +
         work.tensors * kernels_per_tensor(traits, constants) * overhead(device, run, constants);
}

Seconds update_time(const Network& network, const Device& device, const Run& run,
                    const ComputeTraits& traits, const KernelConstants& constants,
                    Bytes parameters) {
  const UpdateWork all = update_work(network);
  if (all.parameters == 0) return {};
  const double share = parameters.si() / (f32_bytes * all.parameters);
  return update_time({share * all.parameters, share * all.tensors}, device, run, traits, constants);
}

Seconds accumulation_time(const Network& network, const Device& device,
                          const KernelConstants& constants, int micro_batches) {
  EXPECT(micro_batches >= 1);
  const auto parameters = static_cast<double>(network.parameter_count());
  return Bytes((micro_batches - 1) * accumulation_bytes * parameters) * moving(device, constants);
}

Estimate<Seconds> with_range(Seconds time, const TimeRange& range) {
  return {time, range.low * time, range.high * time};
}

}  // namespace dlscale::model::sheet
