#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "app/options/inter_node_options.hpp"
#include "core/run/run.hpp"
#include "core/run/schedule_settings.hpp"
#include "model/machine/machine.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// What a verb that predicts asks about the hardware and the training, but for ranks, batch and
/// schedule.
struct TrainingOptions {
  std::string network;
  std::string cluster;
  std::string machine;
  Run run;
  std::string dtype = "f32";
  ScheduleOptions exchange;
  std::string input_copy;
  std::string normalise;
  std::string launch = "eager";
  std::string all_reduce;
  std::string fuse = "none";
  InterNodeOptions inter_node;
  /// What a framework's profile set of these (framework_option.hpp), to be told with the answer.
  std::vector<std::string> told;

  TrainingOptions() { run.loader_threads = 0; }
  /// --network, --cluster and --machine.
  void declare_hardware(CLI::App& verb);
  /// All else but what schedules are tuned by.
  void declare_training(CLI::App& verb);
  /// Throws ConfigError unless exactly one of --cluster and --machine was given.
  void check_hardware() const;
  /// What was named, with the all-reduce asked for and the link between nodes as stated, which is
  /// `link` where the command took several. Throws ConfigError.
  [[nodiscard]] model::Machine find_machine(const InterNodeOptions& link) const;
  [[nodiscard]] model::Machine find_machine() const { return find_machine(inter_node); }
  /// The run that was asked for on such a machine, with the settings of schedules that have an
  /// effect on one of `schedules`, of which it takes the first; ranks and batch are to be set.
  /// Throws ConfigError.
  [[nodiscard]] Run find_run(const std::string& network_name, const model::Machine& on,
                             const std::vector<Schedule>& schedules) const;
};

/// What schedules can be tuned by: --synchronisation, --servers and --sharding; and --cycle,
/// --fusion-threshold, --partition and --credit, which are all of all-reduce; and --bucket and
/// --first-bucket.
void declare_synchronisation(CLI::App& verb, ScheduleOptions& options);
void declare_buckets(CLI::App& verb, ScheduleOptions& options);
void declare_settings(CLI::App& verb, ScheduleOptions& options);

/// --transport and --callers, for what predicts: training reaches its servers by collectives.
void declare_transport(CLI::App& verb, ScheduleOptions& options);

/// Names of schedules as typed, each once. Throws ConfigError.
std::vector<Schedule> parse_schedules(std::string_view option,
                                      const std::vector<std::string>& names);

}  // namespace dlscale::app
