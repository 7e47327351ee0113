#pragma once
#include <string>
#include <vector>

#include "app/options/training_options.hpp"
#include "model/plan/training_plan.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// The choices of dlscale plan, the length of the training, and its constraints; as typed.
struct PlanOptions {
  std::vector<std::string> ranks;
  std::string max_ranks;
  std::vector<std::string> batches{"8..512:x2"};
  GlobalBatchOption global_batch;
  /// Empty: all schedules with a closed form that fit one of the synchronisations.
  std::vector<std::string> schedules;
  std::vector<std::string> buckets;
  std::vector<std::string> synchronisations{"all_reduce"};
  std::vector<std::string> servers;  ///< numbers, sweeps, or "all"
  std::vector<std::string> shardings;
  std::vector<std::string> transports;
  std::vector<std::string> callers;
  double epochs = 0;
  double samples = 0;
  double critical_batch = 0;
  std::string target;
  std::vector<std::string> epochs_at;
  std::string time_limit;
  double budget = 0;
  double price = 0;
  std::string max_global_batch;
  std::string objective = "time";
  int check = 3;

  void declare(CLI::App& verb);
  /// The schedules of --schedules, or the default ones without it. Without `all_reduce` each has to
  /// go with servers. Throws ConfigError.
  [[nodiscard]] std::vector<Schedule> chosen_schedules(bool all_reduce) const;
  /// The question for a training of `network`. `workers` is the number of devices of the machine's
  /// description, and the maximum of ranks if none are named. Throws ConfigError.
  [[nodiscard]] model::PlanQuestion question(const std::string& network, int workers) const;
};

}  // namespace dlscale::app
