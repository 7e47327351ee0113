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
  std::shared_ptr<const Network> network;  ///< as it was read; as_run() of it is trained
  std::string network_source;              ///< the name or file it was read from
  Run run;
  std::string backend;
  int iterations = 1;  ///< measured, after `warmup` others and train::settling_iterations()
  int warmup = 0;
  /// At most so long for iterations that do not count because something else slowed the machine
  /// down (QuietIterations); 0: it is not looked at.
  Seconds wait_quiet{0};
  std::filesystem::path data;
  float rate = 0.01F;
  std::uint64_t seed = 1;
  backend::Waiting waiting = backend::Waiting::sleep;
  train::Timing timing = train::Timing::phases;  ///< phases if there is a trace
  std::filesystem::path trace;                   ///< prefix of the trace files; empty: none
  std::shared_ptr<ProfileFile> profile = {};  ///< where messages are recorded; null: they are not
  std::map<std::string, std::string> axes = {};  ///< of the cell, for the profile
};

/// Trains on all ranks and measures every iteration after the warm-up, every phase as a series
/// if they are timed; of a merged schedule also the messages it chose.
/// Collective; the ranks stop together. A signal keeps the samples so far (status interrupted); a
/// loss that is not finite gives status wrong. Of the sampler's criterion only the width counts: an
/// interval of the median iteration wider than that gives status unstable. Throws ConfigError if
/// the data set cannot be read or the network does not fit into the memory that is free, before it
/// is taken, and FoundByAll if the profile cannot be written.
Measurement measure_training(const Sampler& sampler, const TrainingSettings& settings);

/// A warning if the loss (mean over ranks; by rank, of all iterations) did not fall: the mean of
/// the last quarter of the iterations is not below that of the first.
std::vector<std::string> loss_warnings(const std::vector<std::vector<double>>& losses);

}  // namespace dlscale::bench
