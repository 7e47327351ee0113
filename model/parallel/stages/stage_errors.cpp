#include "model/parallel/stages/stage_errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "model/published/scaling/facts/facts.hpp"
#include "model/sgd_iter/scaling/cluster_facts.hpp"

namespace dlscale::model {
namespace {

/// Parameters of a part over those of the network.
double share_of_part(const Network& network, const NetworkParts& parts, std::size_t part) {
  double own = 0;
  for (const Layer& layer : network.layers()) {
    if (parts.part_of(layer.id) == part) own += static_cast<double>(layer.parameter_count());
  }
  return own / static_cast<double>(network.parameter_count());
}

}  // namespace

TimeFactors joined(const TimeFactors& one, const TimeFactors& other) {
  return {std::exp(-std::hypot(std::log(one.low), std::log(other.low))),
          std::exp(std::hypot(std::log(one.high), std::log(other.high)))};
}

TimeFactors StageErrors::beside_computing() const {
  return joined(exchange, pipeline);
}

TimeFactors StageErrors::all() const {
  return joined(computing, beside_computing());
}

TimeFactors exchange_errors(const Network& network, const Machine& machine, const Run& run,
                            const NetworkParts& parts, const std::vector<PartExchange>& exchanges,
                            Seconds alone) {
  const auto longest = std::ranges::max_element(exchanges, {}, &PartExchange::messages);
  if (longest->ranks == 1 || longest->messages == Seconds()) return {};
  Run holders = run;
  holders.ranks = longest->ranks;
  holders.ranks_per_node = (longest->ranks + longest->nodes - 1) / longest->nodes;
  scaling::TrainingFacts facts = run_facts(machine, holders, network, alone);
  const auto part = static_cast<std::size_t>(longest - exchanges.begin());
  const double share = share_of_part(network, parts, part);
  facts.parameters *= share;
  facts.gradient = share * facts.gradient;
  for (scaling::GradientTensor& tensor : facts.profile.tensors) tensor.elements *= share;
  return scaling_factors(facts);
}

TimeFactors pipeline_errors(int ranks) {
  if (ranks == 1) return {};
  return {std::exp(-published_pipeline_error), std::exp(published_pipeline_error)};
}

}  // namespace dlscale::model
