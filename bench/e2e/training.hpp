#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "bench/e2e/profile_file.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/network/network.hpp"
#include "core/results/measurement.hpp"
#include "core/run/run.hpp"
#include "train/trainer.hpp"

namespace dlscale::bench {

/// One training run to measure.
struct TrainingSettings {
  std::shared_ptr<const Network> network;  ///< as read; training uses as_run() of it
  std::string network_source;              ///< the name or file it was read from
  Run run;
  std::string backend;
  int iterations = 1;  ///< measured iterations, after `warmup` and train::settling_iterations()
  int warmup = 0;
  /// Time limit for iterations that do not count because something else slowed the machine down
  /// (QuietIterations); 0 disables the check.
  Seconds wait_quiet{0};
  std::filesystem::path data;
  float rate = 0.01F;
  std::uint64_t seed = 1;
  backend::WaitPolicy waiting = backend::WaitPolicy::sleep;
  train::Timing timing = train::Timing::phases;  ///< phases if there is a trace
  std::filesystem::path trace;                   ///< prefix of the trace files; empty: none
  std::shared_ptr<ProfileFile> profile = {};     ///< records messages; null: none
  std::map<std::string, std::string> axes = {};  ///< of the cell, for the profile
};

/// Trains on all ranks and measures every iteration after the warm-up, each phase as a series if
/// phases are timed. A merged schedule adds its messages. Collective; the ranks stop together. A
/// signal keeps the samples so far (status interrupted); a loss that is not finite gives status
/// wrong. Of the sampler's criterion only the width is used: a wider interval of the median
/// iteration gives status unstable. Throws ConfigError if the data set is unreadable or the network
/// does not fit in free memory, before allocating it. Throws FoundByAll if the profile cannot be
/// written.
Measurement measure_training(const Sampler& sampler, const TrainingSettings& settings);

/// A warning if the loss did not fall: the mean of the last quarter of iterations is not below that
/// of the first. `losses` has all iterations by rank; their mean over ranks is used.
std::vector<std::string> loss_warnings(const std::vector<std::vector<double>>& losses);

}  // namespace dlscale::bench
