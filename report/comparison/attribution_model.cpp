#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "report/comparison/attribution.hpp"
#include "report/validation/measured_runs.hpp"

namespace dlscale::report {
namespace {

using model::Machine;

auto question_of(const model::KernelTime& kernel) {
  return std::tuple(kernel.kernel, kernel.pass, kernel.dtype, kernel.batch, kernel.threads,
                    kernel.ranks_on_node);
}

/// The kernel whose time changed most, among those that both machines have.
std::string moved_kernel(const Machine& base, const Machine& changed, const Run& run) {
  const model::KernelTime* most = nullptr;
  double most_ratio = 1;
  double longest = 0;
  for (const model::KernelTime& kernel : base.kernels) {
    if (kernel.batch != run.batch || kernel.dtype != run.dtype) continue;
    const auto same = std::ranges::find_if(changed.kernels, [&](const model::KernelTime& other) {
      return question_of(other) == question_of(kernel);
    });
    if (same == changed.kernels.end() || kernel.time.value <= Seconds()) continue;
    const double moved = std::abs((same->time.value - kernel.time.value).si());
    if (moved <= longest) continue;
    longest = moved;
    most = &kernel;
    most_ratio = same->time.value / kernel.time.value;
  }
  if (most == nullptr) return "";
  return fmt::format("{} {} {}", most->kernel, pass_name(most->pass),
                     signed_percent(most_ratio - 1));
}

/// The change of the all-reduce of all gradients of the run.
std::string moved_message(const Machine& base, const Machine& changed, const Network& network,
                          const Run& run) {
  constexpr double bytes_of_f32 = 4;
  const Bytes gradients(bytes_of_f32 * static_cast<double>(network.parameter_count()));
  for (const model::CollectiveFit& fit : base.collectives) {
    if (fit.collective != "all_reduce" || fit.ranks != run.ranks) continue;
    for (const model::CollectiveFit& other : changed.collectives) {
      if (std::tie(other.collective, other.ranks, other.ranks_on_node, other.waiting) !=
          std::tie(fit.collective, fit.ranks, fit.ranks_on_node, fit.waiting)) {
        continue;
      }
      const double ratio = other.time(gradients) / fit.time(gradients);
      return fmt::format("{} of {:.1f} MB on {} {}", fit.collective, gradients.si() * 1e-6,
                         counted(fit.ranks, "rank"), signed_percent(ratio - 1));
    }
  }
  return "";
}

/// A separately measured family, and how to copy it into another machine.
struct Family {
  const char* name;
  void (*put)(Machine& into, const Machine& from);
};

constexpr std::array families{
    Family{"data sheets", [](Machine& into, const Machine& from) { into.cluster = from.cluster; }},
    Family{"kernels", [](Machine& into, const Machine& from) { into.kernels = from.kernels; }},
    Family{"messages",
           [](Machine& into, const Machine& from) {
             into.collectives = from.collectives;
             into.algorithms = from.algorithms;
             into.reduction = from.reduction;
           }},
    Family{"messages and computing at the same time",
           [](Machine& into, const Machine& from) { into.contention = from.contention; }},
    Family{"copies to the device", [](Machine& into, const Machine& from) { into.h2d = from.h2d; }},
    Family{"updates", [](Machine& into, const Machine& from) { into.update = from.update; }},
    Family{"loading", [](Machine& into, const Machine& from) { into.loaders = from.loaders; }},
    Family{"memory", [](Machine& into, const Machine& from) {
             into.memory_bandwidth = from.memory_bandwidth;
           }}};

double iteration(const Network& network, const Machine& machine, const Run& run) {
  return model::predict(network, machine, run, std::array{run.ranks}).front().time.total.si();
}

}  // namespace

PredictedChange predict_change(const Network& network, const Machine& base, const Machine& changed,
                               const Run& run) {
  const double before = iteration(network, base, run);
  PredictedChange result;
  result.change = iteration(network, changed, run) / before - 1;
  result.together = result.change;
  for (const Family& family : families) {
    Machine mixed = base;
    family.put(mixed, changed);
    const double share = iteration(network, mixed, run) / before - 1;
    result.together -= share;
    const std::string name = family.name;
    result.causes.push_back({name, share,
                             name == "kernels"    ? moved_kernel(base, changed, run)
                             : name == "messages" ? moved_message(base, changed, network, run)
                                                  : ""});
  }
  return result;
}

void add_predictions(std::vector<Attribution>& attributions, std::span<const ResultFile> results,
                     const Machine& base, const Machine& changed) {
  const Networks networks = read_networks(results);
  const MeasuredRuns measured = collect_runs(results);
  for (Attribution& attribution : attributions) {
    const auto run = std::ranges::find(measured.runs, attribution.key, &MeasuredRun::key);
    if (run == measured.runs.end()) continue;
    const auto network = networks.find(run->run.network);
    if (network == networks.end()) continue;
    attribution.predicted = predict_change(*network->second, base, changed, run->run);
  }
}

}  // namespace dlscale::report
