#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/options/hardware_options.hpp"
#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/compute_traits.hpp"
#include "core/run/run.hpp"
#include "core/run/schedule_settings.hpp"
#include "model/machine/machine.hpp"
#include "model/published/scaling/facts/facts.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Values of a training that a command line or a framework's profile gives. An absent value was
/// not given. Lists have one element, except where a command compares several.
struct TrainingValues {
  std::optional<std::vector<Schedule>> schedules = {};
  std::optional<std::vector<Synchronisation>> synchronisations = {};
  std::optional<std::vector<int>> servers = {};  ///< 0: all ranks
  std::optional<std::vector<Sharding>> shardings = {};
  std::optional<std::vector<Transport>> transports = {};
  std::optional<std::vector<Callers>> callers = {};
  std::optional<Seconds> cycle = {};
  std::optional<Bytes> fusion_threshold = {};
  std::optional<Bytes> bucket = {};
  std::optional<Bytes> first_bucket = {};
  std::optional<Bytes> partition = {};
  std::optional<int> credit = {};
  std::optional<InputCopy> input_copy = {};
  std::optional<Normalisation> normalisation = {};
  std::optional<Launch> launch = {};
  std::optional<std::string> all_reduce = {};            ///< rule or algorithm of all-reduces
  std::optional<std::vector<ComputeRow>> software = {};  ///< of a framework's profile alone
  std::optional<model::scaling::FrameworkTraits> exchange_traits = {};  ///< likewise
};

/// An option, and the value that it gives.
template <class T>
struct ValueOption {
  std::string_view name;
  std::optional<T> TrainingValues::*value;
};

namespace value_options {
inline constexpr ValueOption<std::vector<Schedule>> schedule{"--schedule",
                                                             &TrainingValues::schedules};
inline constexpr ValueOption<std::vector<Synchronisation>> synchronisation{
    "--synchronisation", &TrainingValues::synchronisations};
inline constexpr ValueOption<std::vector<int>> servers{"--servers", &TrainingValues::servers};
inline constexpr ValueOption<std::vector<Sharding>> sharding{"--sharding",
                                                             &TrainingValues::shardings};
inline constexpr ValueOption<std::vector<Transport>> transport{"--transport",
                                                               &TrainingValues::transports};
inline constexpr ValueOption<std::vector<Callers>> callers{"--server-clients",
                                                           &TrainingValues::callers};
inline constexpr ValueOption<Seconds> cycle{"--cycle", &TrainingValues::cycle};
inline constexpr ValueOption<Bytes> fusion_threshold{"--fusion-threshold",
                                                     &TrainingValues::fusion_threshold};
inline constexpr ValueOption<Bytes> bucket{"--bucket", &TrainingValues::bucket};
inline constexpr ValueOption<Bytes> first_bucket{"--first-bucket", &TrainingValues::first_bucket};
inline constexpr ValueOption<Bytes> partition{"--partition", &TrainingValues::partition};
inline constexpr ValueOption<int> credit{"--credit", &TrainingValues::credit};
inline constexpr ValueOption<InputCopy> input_copy{"--input-copy", &TrainingValues::input_copy};
inline constexpr ValueOption<Normalisation> normalisation{"--normalize",
                                                          &TrainingValues::normalisation};
inline constexpr ValueOption<Launch> launch{"--launch", &TrainingValues::launch};
inline constexpr ValueOption<std::string> all_reduce{"--all-reduce", &TrainingValues::all_reduce};
}  // namespace value_options

/// The values of `above`, and those of `below` where it has none: overlay(profile, typed).
TrainingValues overlay(const TrainingValues& below, const TrainingValues& above);

/// The first value of each list, and the other values of the exchange of gradients.
ExchangeValues exchange_of(const TrainingValues& values);

/// The hardware and training options of verbs that predict, except ranks, batch and schedule.
struct TrainingOptions {
  std::string network;
  int sequence = 0;  ///< tokens; 0: as many as the network's file says
  std::string cluster;
  std::string machine;
  Run run;
  /// "fp8" or "fp4" where --dtype named one: only plans of transformers know them, and find_run()
  /// refuses them. Else empty.
  std::string few_bits;
  TrainingValues values;
  InterNodeOptions inter_node;
  MessageTimesOption messages;
  /// Notes on what a framework's profile set (framework_option.hpp), to print with the answer.
  std::vector<std::string> told;

  TrainingOptions() { run.loader_threads = 0; }
  /// Declares --network, --sequence, --cluster and --machine.
  void declare_hardware(CLI::App& verb);
  /// Declares all other options, except those that tune schedules.
  void declare_training(CLI::App& verb);
  /// The network, for sequences of the chosen length. Throws ConfigError.
  [[nodiscard]] Network find_network() const;
  /// Throws ConfigError unless exactly one of --cluster and --machine was given.
  void check_hardware() const;
  /// The chosen machine, with the requested all-reduce, messages as timed, and the stated link
  /// between nodes: `link`, if the command took several. Throws ConfigError.
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

/// Declares --transport and --server-clients for verbs that predict; training reaches its servers
/// by collectives.
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
