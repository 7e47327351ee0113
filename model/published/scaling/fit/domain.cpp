#include "model/published/scaling/fit/domain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "model/published/scaling/time/exchange_cost.hpp"

namespace dlscale::model::scaling {
namespace {

/// Rates within a quarter belong to the same generation.
constexpr double near = 1.25;

constexpr std::array<HardwareKind, hardware_count> kinds = {{
    {"pcie", "PCI Express within nodes", " GB/s", 1e9, near},
    {"nvlink", "NVLink within nodes", " GB/s", 1e9, near},
    {"tcp", "TCP between nodes", " GB/s", 1e9, near},
    {"rdma", "RDMA between nodes", " GB/s", 1e9, near},
    {"memory", "memory of GPUs", " GB/s", 1e9, near},
    {"year", "GPUs by their year", "", 1, 1},
}};

using Rates = std::array<std::optional<double>, hardware_count>;

/// The rates of the hardware that a training uses.
Rates hardware_of(const TrainingFacts& facts) {
  Rates rates;
  const auto set = [&](Hardware kind, double value) {
    rates[static_cast<std::size_t>(kind)] = value;
  };
  if (std::max(facts.given.gpus_on_node, facts.asked.gpus_on_node) > 1) {
    const bool pcie = facts.node_fabric == NodeFabric::pcie;
    set(pcie ? Hardware::pcie : Hardware::nvlink, facts.node_bandwidth.si());
  }
  if (std::max(facts.given.nodes, facts.asked.nodes) > 1) {
    set(over_tcp(facts) ? Hardware::tcp : Hardware::rdma, facts.cluster_bandwidth.si());
  }
  set(Hardware::memory, facts.memory_bandwidth.si());
  set(Hardware::year, facts.launched);
  return rates;
}

std::optional<std::string> unlike(const HardwareKind& kind, double rate,
                                  const std::optional<FittedRange>& fitted) {
  const auto text = [&](double value) {
    return fmt::format("{:.4g}{}", value / kind.scale, kind.unit);
  };
  if (!fitted) return fmt::format("{} ({}), of which nothing was fitted", kind.words, text(rate));
  if (rate > fitted->most * kind.beyond) {
    return fmt::format("{}: {}, and no more than {} was fitted to", kind.words, text(rate),
                       text(fitted->most));
  }
  if (rate < fitted->least / kind.beyond) {
    return fmt::format("{}: {}, and no less than {} was fitted to", kind.words, text(rate),
                       text(fitted->least));
  }
  return {};
}

}  // namespace

std::span<const HardwareKind, hardware_count> hardware_kinds() {
  return kinds;
}

void FitDomain::take(const TrainingFacts& facts) {
  const double batch = facts.batch / facts.given_batch;
  gpus = std::max(gpus, facts.asked.gpus);
  given_gpus = std::max(given_gpus, facts.given.gpus);
  least_batch = std::min(least_batch, batch);
  most_batch = std::max(most_batch, batch);
  const Rates rates = hardware_of(facts);
  for (std::size_t i = 0; i < hardware_count; ++i) {
    if (!rates[i]) continue;
    const FittedRange before = hardware[i].value_or(FittedRange{*rates[i], *rates[i]});
    hardware[i] = {std::min(before.least, *rates[i]), std::max(before.most, *rates[i])};
  }
}

std::vector<std::string> outside(const TrainingFacts& facts, const FitDomain& domain) {
  std::vector<std::string> doubts = facts.guesses;
  const double batch = facts.batch / facts.given_batch;
  if (facts.asked.gpus > domain.gpus) {
    doubts.push_back(
        fmt::format("{} GPUs, and no more than {} were fitted to", facts.asked.gpus, domain.gpus));
  }
  if (facts.given.gpus > domain.given_gpus) {
    doubts.push_back(fmt::format("the given point is of {} GPUs, and of {} at most where fitted to",
                                 facts.given.gpus, domain.given_gpus));
  }
  if (facts.asked.gpus < facts.given.gpus) {
    doubts.push_back(fmt::format("fewer GPUs than the {} of the given point", facts.given.gpus));
  }
  if (batch < domain.least_batch) {
    doubts.push_back(
        fmt::format("a batch {:.3g} times that of the given point, and {:.3g} times at least was "
                    "fitted to",
                    batch, domain.least_batch));
  }
  if (batch > domain.most_batch) {
    doubts.push_back(
        fmt::format("a batch {:.3g} times that of the given point, and {:.3g} times at most was "
                    "fitted to",
                    batch, domain.most_batch));
  }
  const Rates rates = hardware_of(facts);
  for (std::size_t i = 0; i < hardware_count; ++i) {
    if (!rates[i]) continue;
    if (auto doubt = unlike(kinds[i], *rates[i], domain.hardware[i])) {
      doubts.push_back(std::move(*doubt));
    }
  }
  return doubts;
}

}  // namespace dlscale::model::scaling
