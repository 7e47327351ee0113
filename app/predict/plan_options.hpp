#pragma once
#include <string>
#include <vector>

#include "app/options/global_batch.hpp"
#include "model/plan/training_plan.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// What dlscale plan chooses from, how long training goes on, and what it must keep to; as typed.
struct PlanOptions {
  std::vector<std::string> ranks;
  std::string max_ranks;
  std::vector<std::string> batches{"8..512:x2"};
  GlobalBatchOption global_batch;
  /// Empty: all that have a closed form and go with a way to synchronise.
  std::vector<std::string> schedules;
  std::vector<std::string> buckets;
  std::vector<std::string> synchronisations{"all_reduce"};
  std::vector<std::string> servers;  ///< numbers, sweeps of them, or "all"
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
  /// --schedules as read, or those that are chosen from where it was not given; each goes with
  /// all-reduces, or with servers.
  [[nodiscard]] std::vector<Schedule> chosen_schedules(bool all_reduce) const;
  /// Of a training of `network` on a machine whose description has `workers` devices, which are the
  /// most ranks where none are named. Throws ConfigError.
  [[nodiscard]] model::PlanQuestion question(const std::string& network, int workers) const;
};

}  // namespace dlscale::app
