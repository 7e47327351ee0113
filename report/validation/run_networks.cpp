#include "report/validation/run_networks.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/network/fingerprint.hpp"

namespace dlscale::report {
namespace {

using Sources = std::map<std::string, std::shared_ptr<const Network>>;

/// The source that load_network() reads a run's network from; older files have it as the axis.
std::string source_of(const Measurement& run) {
  return run.network ? run.network->source : run.axis("network");
}

/// Empty if it cannot be read; network_objection() retries and says why.
std::shared_ptr<const Network> read(const std::string& source) {
  try {
    return std::make_shared<const Network>(load_network(source));
  } catch (const ConfigError&) {
    return nullptr;
  }
}

std::string why_unreadable(const std::string& source) {
  try {
    (void)load_network(source);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

template <class Visit>
void for_each_run(std::span<const ResultFile> results, Visit visit) {
  for (const ResultFile& file : results) {
    for (const Measurement& measurement : file.measurements) {
      if (measurement.benchmark == "e2e") visit(measurement);
    }
  }
}

}  // namespace

Networks read_networks(std::span<const ResultFile> results) {
  Sources sources;
  for_each_run(results, [&](const Measurement& run) {
    const std::string source = source_of(run);
    if (!sources.contains(source)) sources.emplace(source, read(source));
  });
  Networks networks;
  for_each_run(results, [&](const Measurement& run) {
    const auto& network = sources.at(source_of(run));
    const bool same = network && run.network && fingerprint(*network) == run.network->fingerprint;
    if (same) networks.try_emplace(run.axis("network"), network);
  });
  for_each_run(results, [&](const Measurement& run) {
    const auto& network = sources.at(source_of(run));
    if (network) networks.try_emplace(run.axis("network"), network);
  });
  return networks;
}

std::string network_objection(const Networks& networks, const ResultFile& file,
                              const Measurement& run) {
  const std::string& name = run.axis("network");
  const std::string source = source_of(run);
  const auto found = networks.find(name);
  if (found == networks.end()) {
    return fmt::format("the run of {} in {} cannot be predicted: {}", name, file.path.string(),
                       why_unreadable(source));
  }
  if (!run.network) return "";
  const std::string now = fingerprint(*found->second);
  if (now == run.network->fingerprint) return "";
  return fmt::format(
      "{} is of another network than \"{}\" is now (fingerprint {}, read from {}; now {}), so a "
      "prediction would be of the wrong one. Restore what it was, or measure again.",
      file.path.string(), name, run.network->fingerprint, source, now);
}

}  // namespace dlscale::report
