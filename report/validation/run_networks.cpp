#include "report/validation/run_networks.hpp"

#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "model/fits/fit.hpp"

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

using Differences = std::map<std::string, std::set<std::string>>;  // difference → files

/// Records a difference; values unknown to a side do not differ.
void compare_value(Differences& differences, const ResultFile& file, const std::string& what,
                   const std::string& run, const std::string& machine) {
  const auto known = [](const std::string& value) { return !value.empty() && value != "unknown"; };
  if (!known(run) || !known(machine) || run == machine) return;
  differences[fmt::format("measured with {} {}, the machine with {}", what, run, machine)].insert(
      file.path.string());
}

/// Whether a library affects the run. On one rank the communicator differs from that of the message
/// benchmark, and takes no time.
bool concerns(const Measurement& run, const std::string& library) {
  const auto ranks = run.axes.find("ranks");
  return library != "communicator" || ranks == run.axes.end() || ranks->second != "1";
}

void compare_run(Differences& differences, const ResultFile& file, const Measurement& run,
                 const model::MeasuredOn& machine) {
  const Environment& environment = file.header.environment;
  compare_value(differences, file, "processor", environment.cpu, machine.cpu);
  compare_value(differences, file, "host", environment.host_hash, machine.host_hash);
  if (const auto backend = run.axes.find("backend"); backend != run.axes.end()) {
    compare_value(differences, file, "compute backend", backend->second, machine.backend);
  }
  if (model::is_between_hosts(run)) {
    compare_value(differences, file, "the", model::links_between_hosts(environment), machine.links);
  }
  for (const auto& [name, version] : machine.libraries) {
    const auto used = environment.libraries.find(name);
    if (used == environment.libraries.end() || !concerns(run, name)) continue;
    compare_value(differences, file, name, used->second, version);
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

std::vector<std::string> machine_differences(const model::Machine& machine,
                                             std::span<const ResultFile> results) {
  if (!machine.fitted) return {};
  if (machine.measured_on.cpu == "unknown") {
    return {
        "the machine does not say what it was fitted to, so whether these runs were measured on "
        "the same is not known: calibrate again"};
  }
  Differences differences;
  for (const ResultFile& file : results) {
    for (const Measurement& run : file.measurements) {
      if (run.benchmark == "e2e") compare_run(differences, file, run, machine.measured_on);
    }
  }
  std::vector<std::string> notes;
  for (const auto& [difference, files] : differences) {
    notes.push_back(fmt::format("{} ({})", difference, fmt::join(files, ", ")));
  }
  return notes;
}

}  // namespace dlscale::report
