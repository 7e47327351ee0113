#include "model/parallel/uncertain/interval.hpp"

#include <algorithm>
#include <cmath>

namespace dlscale::model::parallel_time {
namespace {

constexpr double ampere = 8;
// Judgements: four fitted trainings are wider, and none has over 512 GPUs.
constexpr double many_features = 16384;
constexpr double many_gpus = 1024;

double square(double of) {
  return of * of;
}

double seen_variance(const IntervalConstants& constants, const PlanSizes& plan,
                     const IterationTime& time, double layers) {
  const LayerTime& layer = time.layer;
  const double host = square(square(layer.host.total()));
  const double device = square(square(layer.device.total() + layer.messages.total()));
  const double by_host = host + device > 0 ? host / (host + device) : 0;
  const double whole = layer.layer.total();
  const double share = std::min(1.0, plan.micro_batches * layers * whole / time.total);
  const double messages = share * std::min(1.0, layer.messages.total() / whole) * (1 - by_host) +
                          std::min(1.0, time.exposed_gradients / time.total);
  const double bubbles =
      plan.stages > 1
          ? std::clamp(1 - plan.micro_batches * time.slowest_stage / time.pipeline, 0.0, 1.0)
          : 0;
  return square(constants.always) + square(constants.host * share * by_host) +
         square(constants.messages * messages) + square(constants.pipeline * bubbles);
}

double unseen_variance(const IntervalConstants& constants, const Setting& setting,
                       const PlanSizes& plan, const IntervalFacts& facts) {
  double sum = 0;
  const auto add = [&](bool applies, double deviation) {
    if (applies) sum += square(deviation);
  };
  const double capability = setting.rates.facts.capability;
  add(capability == 0, constants.other_maker);
  add(capability > 0 && (capability < ampere || capability >= blackwell_capability),
      constants.new_card);
  add(setting.rates.precision == Precision::eight_bits, constants.eight_bits);
  add(setting.rates.precision == Precision::four_bits, constants.four_bits);
  const bool has_experts = setting.shape.experts.has_value();
  const bool crosses = has_experts && plan.experts > setting.collectives.links().node_gpus;
  add(has_experts && !crosses, constants.experts);
  add(crosses, constants.experts_across);
  add(setting.shape.latent.has_value(), constants.latent);
  add(plan.context > 1, constants.context);
  const bool is_compiled_anew = plan.compiled && setting.family->compiling == Compiling::on_request;
  add(!setting.family->fitted || is_compiled_anew, constants.new_family);
  add(static_cast<double>(setting.shape.hidden) > many_features ||
          setting.collectives.links().gpus > many_gpus,
      constants.large);
  add(!facts.is_family_named, constants.no_family);
  return sum;
}

}  // namespace

TimeRange time_range(const IntervalConstants& constants, const Setting& setting,
                     const PlanSizes& plan, const IterationTime& time, const IntervalFacts& facts) {
  const double layers =
      plan.stages > 1 ? time.busiest_layers : static_cast<double>(setting.shape.layers);
  const double deviation = std::sqrt(seen_variance(constants, plan, time, layers) +
                                     unseen_variance(constants, setting, plan, facts));
  return {std::exp(constants.low * deviation), std::exp(constants.high * deviation)};
}

}  // namespace dlscale::model::parallel_time
