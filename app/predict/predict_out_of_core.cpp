#include "app/predict/predict_out_of_core.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "app/cli/option_values.hpp"
#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/cluster/device_memory.hpp"
#include "model/memory/out_of_core/offloaded_update.hpp"
#include "model/memory/out_of_core/policies.hpp"
#include "model/memory/out_of_core/spilled_training.hpp"
#include "report/prediction/out_of_core_table.hpp"

namespace dlscale::app {
namespace {

using model::SpillPolicy;
using model::SpillTensor;

constexpr std::string_view all_policies = "all";

/// An answer that may need more than the memory, where the policy can be computed at all.
std::optional<model::SpillAnswer> answer_at_any_size(SpillPolicy policy,
                                                     const report::OutOfCoreAnswer& asked,
                                                     std::vector<std::string>& left_out) {
  constexpr Bytes any_size(1e18);
  const bool managed = policy == SpillPolicy::unified || policy == SpillPolicy::unified_advised;
  const bool bounded = managed || policy == SpillPolicy::optimal || policy == SpillPolicy::prefetch;
  try {
    return spilled(policy, asked.training, asked.link, bounded ? asked.memory : any_size);
  } catch (const ConfigError& error) {
    left_out.push_back(fmt::format("left out: {}: {}", spill_policy_name(policy), error.what()));
    return {};
  }
}

/// Whether a policy without a search fits the memory with some batch.
bool any_fits(const Network& network, const model::Machine& machine, Run run, int batch) {
  run.batch = batch;
  const model::SpilledTraining training = model::spilled_training(network, machine, run);
  const model::HostLink link = model::host_link(machine.cluster);
  return std::ranges::any_of(model::all_spill_policies, [&](SpillPolicy policy) {
    if (policy == SpillPolicy::optimal) return false;
    try {
      (void)spilled(policy, training, link, usable_memory(machine.cluster.device));
      return true;
    } catch (const ConfigError&) {
      return false;
    }
  });
}

/// Says that nothing fits, and the greatest batch with which something does.
std::string nothing_fits_sentence(const Network& network, const model::Machine& machine,
                                  const Run& run) {
  int fits = 0;
  int too_large = run.batch;
  while (too_large - fits > 1) {
    const int middle = fits + (too_large - fits) / 2;
    (any_fits(network, machine, run, middle) ? fits : too_large) = middle;
  }
  const std::string most =
      fits == 0 ? "Not even a batch of 1 does." : fmt::format("The greatest batch is {}.", fits);
  return fmt::format("No policy fits {} with batch {} in the {:.3g} GB of the device. {}",
                     run.network, run.batch, usable_memory(machine.cluster.device).si() / 1e9,
                     most);
}

/// When computing anew takes less than copies there and back.
std::string recompute_sentence(const report::OutOfCoreAnswer& asked) {
  std::size_t cheap = 0;
  std::size_t cheaper = 0;
  for (const SpillTensor& tensor : asked.training.tensors) {
    if (!tensor.recompute) continue;
    ++cheap;
    if (*tensor.recompute < asked.link.out(tensor.size) + asked.link.in(tensor.size)) ++cheaper;
  }
  return fmt::format(
      "{} of {} outputs can be computed anew without a product; that takes less than their copies "
      "for {} of them",
      cheap, asked.training.tensors.size(), cheaper);
}

std::string link_sentence(const model::HostLink& link, const Cluster& cluster) {
  return fmt::format(
      "copies over {} at {:.3g} GB/s each way, pages on demand at {:.3g} GB/s: the shares of its "
      "line rate that a V100 reached over PCI Express 3.0",
      cluster.host_device.name, link.to_device.si() / 1e9, link.by_faults.si() / 1e9);
}

/// The update on the host, for trainings whose states take more than outputs.
std::string update_sentence(const Network& network, const report::OutOfCoreAnswer& asked) {
  const auto parameters = static_cast<double>(network.parameter_count());
  if (parameters == 0) return "the network has no parameters to update";
  const model::OffloadedUpdate update = model::offloaded_update(
      asked.training, parameters, static_cast<double>(element_bytes(asked.run.dtype)), asked.link,
      {model::server_update_rate});
  return fmt::format(
      "with Adam and its states on the host instead (ZeRO-Offload), a step takes {:.4g} ms, of "
      "which the processor updates for {:.4g} ms at {:.3g} GB/s; {:.3g} GB of weights stay on the "
      "device",
      update.total.si() * 1e3, update.update.si() * 1e3, model::server_update_rate.si() / 1e9,
      update.device.si() / 1e9);
}

}  // namespace

void PredictOutOfCore::declare(CLI::App& verb) {
  std::vector<std::string> names{std::string(all_policies)};
  for (const SpillPolicy policy : model::all_spill_policies) {
    names.emplace_back(spill_policy_name(policy));
  }
  CLI::Option* option =
      verb.add_option("--out-of-core", policy_,
                      "Predict a step that needs more than the device's memory: all policies, or "
                      "one with its outputs")
          ->expected(0, 1)
          ->default_str("all")
          ->type_name(one_of(names));
  exclude_others(verb, *option,
                 {"--network", "--sequence", "--cluster", "--batch", "--framework", "--dtype",
                  "--fuse", "--device", "--set", "--format", "--color", "--quiet", "--output"});
}

report::Document PredictOutOfCore::predict(const Network& network, const model::Machine& machine,
                                           const Run& run,
                                           const std::vector<std::string>& assumed) const {
  const Cluster& cluster = machine.cluster;
  if (cluster.device.kind == DeviceKind::cpu) {
    throw ConfigError(fmt::format(
        "--out-of-core: the devices of cluster {} are processors, whose memory is the host's, so "
        "that nothing can leave it. Name a cluster of GPUs.",
        cluster.name));
  }
  if (cluster.device.memory <= Bytes()) {
    throw ConfigError(fmt::format(
        "--out-of-core: cluster {} states no memory of its devices, so that nothing has to leave "
        "them. Name another, or add device.memory.",
        cluster.name));
  }
  report::OutOfCoreAnswer asked{run,
                                model::spilled_training(network, machine, run),
                                model::host_link(cluster),
                                usable_memory(cluster.device),
                                {},
                                false};
  std::vector<std::string> notes;
  if (policy_ != all_policies) {
    asked.answers.push_back(
        spilled(model::parse_spill_policy(policy_), asked.training, asked.link, asked.memory));
    asked.tensors = true;
  } else {
    for (const SpillPolicy policy : model::all_spill_policies) {
      if (auto one = answer_at_any_size(policy, asked, notes)) asked.answers.push_back(*one);
    }
  }
  const bool fits =
      std::ranges::any_of(asked.answers, [&](const auto& one) { return one.peak <= asked.memory; });
  if (!fits) notes.clear();  // one sentence says it for all
  for (const model::SpillAnswer& answer : asked.answers) {
    const bool mixed = answer.same_as == SpillPolicy::optimal;
    if (answer.policy != SpillPolicy::optimal || mixed) continue;
    notes.push_back(fmt::format("optimal is {} here", spill_policy_name(answer.same_as)));
  }
  notes.push_back(recompute_sentence(asked));
  notes.push_back(update_sentence(network, asked));
  notes.push_back(link_sentence(asked.link, cluster));
  notes.emplace_back(
      "slower: than on a device with enough memory; memory without workspaces and the library's "
      "own");
  notes.insert(notes.end(), assumed.begin(), assumed.end());
  report::Document document = report::out_of_core_document(asked, notes);
  if (!fits) document.lead = nothing_fits_sentence(network, machine, run);
  return document;
}

}  // namespace dlscale::app
