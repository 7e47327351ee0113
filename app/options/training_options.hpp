#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/options/inter_node_options.hpp"
#include "app/options/training_values.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// The hardware and training options of verbs that predict, except ranks, batch and schedule.
struct TrainingOptions {
  std::string network;
  std::string cluster;
  std::string machine;
  Run run;
  std::string dtype = "f32";
  TrainingValues values;
  std::string normalise;
  std::string fuse = "none";
  InterNodeOptions inter_node;
  /// Notes on what a framework's profile set (framework_option.hpp), to print with the answer.
  std::vector<std::string> told;

  TrainingOptions() { run.loader_threads = 0; }
  /// Declares --network, --cluster and --machine.
  void declare_hardware(CLI::App& verb);
  /// Declares all other options, except those that tune schedules.
  void declare_training(CLI::App& verb);
  /// Throws ConfigError unless exactly one of --cluster and --machine was given.
  void check_hardware() const;
  /// The chosen machine, with the requested all-reduce and with the stated link between nodes:
  /// `link`, if the command took several. Throws ConfigError.
  [[nodiscard]] model::Machine find_machine(const InterNodeOptions& link) const;
  [[nodiscard]] model::Machine find_machine() const { return find_machine(inter_node); }
  /// The requested run on such a machine with this exchange of gradients. It has the first of
  /// `schedules`; ranks and batch are still to be set. Throws ConfigError for a value of the
  /// exchange that affects none of the schedules.
  [[nodiscard]] Run find_run(const std::string& network_name, const model::Machine& on,
                             const std::vector<Schedule>& schedules,
                             const ExchangeValues& exchange) const;
};

/// Throws ConfigError for a name that an option has twice.
[[noreturn]] void refuse_twice(std::string_view option, std::string_view name);

/// Declare the options that tune schedules: --synchronisation, --servers and --sharding; --bucket
/// and --first-bucket; and --cycle, --fusion-threshold, --partition and --credit, which belong to
/// all-reduce.
void declare_synchronisation(CLI::App& verb, TrainingValues& values);
void declare_buckets(CLI::App& verb, TrainingValues& values);
void declare_settings(CLI::App& verb, TrainingValues& values);

/// Declares --transport and --callers for verbs that predict; training reaches its servers by
/// collectives.
void declare_transport(CLI::App& verb, TrainingValues& values);

/// Values by their names as typed, each once. Throws ConfigError.
template <class Enum>
std::vector<Enum> parse_words(std::string_view option, const std::vector<std::string>& names,
                              Enum (*parse)(std::string_view)) {
  std::vector<Enum> values;
  for (const std::string& name : names) {
    const Enum value = parse(name);
    if (std::ranges::find(values, value) != values.end()) refuse_twice(option, name);
    values.push_back(value);
  }
  return values;
}

/// --global-batch of predict and plan: images of an iteration on all ranks, in equal shares (strong
/// scaling).
struct GlobalBatchOption {
  std::string text;
  /// Declares the option; call it after --batch, which it replaces.
  void declare(CLI::App& verb);
  /// Nothing if it was not given. Throws ConfigError.
  [[nodiscard]] std::optional<std::int64_t> find() const;
};

/// A whole number of images, from 1 to 1e9. Throws ConfigError naming the option.
std::int64_t counted_images(std::string_view option, std::string_view text);

/// Images of one rank. Throws ConfigError if the share is not whole, or exceeds the limit of a
/// rank.
int share_of(std::int64_t global_batch, int ranks);

}  // namespace dlscale::app
