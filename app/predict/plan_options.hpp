#pragma once
#include <string>
#include <vector>

#include "app/options/training_options.hpp"
#include "model/plan/training_plan.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// The schedules that a plan chooses from if none are named. Without `all_reduce` each goes with
/// servers.
std::vector<Schedule> usual_schedules(bool all_reduce);

/// The choices of dlscale plan, the length of the training, and its constraints; as typed.
struct PlanOptions {
  std::vector<std::string> ranks;
  std::string max_ranks;
  std::vector<std::string> batches{"8..512:x2"};
  GlobalBatchOption global_batch;
  std::vector<std::string> buckets;
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

  /// Declares the options; `values` gets the lists of what the exchange of gradients may be.
  void declare(CLI::App& verb, TrainingValues& values);
  /// The limits of the training. Throws ConfigError.
  [[nodiscard]] model::PlanLimits limits() const;
  /// The question for a training of `network` by these values. `workers` is the number of devices
  /// of the machine's description, and the maximum of ranks if none are named. Throws ConfigError.
  [[nodiscard]] model::PlanQuestion question(const TrainingValues& values,
                                             const std::string& network, int workers) const;
};

}  // namespace dlscale::app
