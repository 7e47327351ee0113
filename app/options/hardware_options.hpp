#pragma once
#include <string>
#include <vector>

#include "app/measure/message_logs.hpp"
#include "core/cluster/cluster.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --inter-node-bandwidth and --inter-node-latency: the link between nodes, which a machine
/// measured on one node lacks and a what-if question changes. Values are kept as typed; commands
/// that take one link refuse a list.
struct InterNodeOptions {
  std::string bandwidth;
  std::string latency;
  void declare(CLI::App& command);
  [[nodiscard]] bool given() const { return !bandwidth.empty(); }
  /// One link for each bandwidth with each latency if lists or sweeps were given
  /// (app/cli/number_sweep.hpp); else only itself. Throws ConfigError.
  [[nodiscard]] std::vector<InterNodeOptions> each() const;
  /// Overrides the link of `cluster` if an option was given. Throws ConfigError.
  void apply(Cluster& cluster) const;
};

/// --message-times and --log-ranks of predict: messages that the user timed, in place of what a
/// machine or data sheets say.
struct MessageTimesOption {
  std::string file;
  LogRanks log_ranks;
  void declare(CLI::App& command);
  [[nodiscard]] bool given() const { return !file.empty(); }
  /// Ranks fill nodes of `devices_per_node` where the file does not state it. Throws ConfigError.
  [[nodiscard]] MessageLog read(int devices_per_node) const;
  /// The machine with these messages, if the option was given. Throws ConfigError.
  void apply(model::Machine& machine) const;
  /// Where messages are from, and what was left out of the file.
  [[nodiscard]] std::vector<std::string> notes(const model::Machine& machine) const;
};

/// --set, --device and --sharp of predict: hardware that differs from the machine's.
struct WhatIfOptions {
  std::vector<std::string> set;
  std::string device;
  bool sharp = false;
  /// Declares the options; call it after --all-reduce and --inter-node-bandwidth, which some of
  /// them replace.
  void declare(CLI::App& command);
  /// Changes `machine` as requested: the device first, then the stated values. Returns a sentence
  /// for each change. Throws ConfigError.
  [[nodiscard]] std::vector<std::string> apply(model::Machine& machine, DType dtype) const;
  /// Throws ConfigError if --sharp is given for a run that does not add gradients by all-reduce.
  void check(const Run& run) const;
};

/// A cluster with another GPU in place of its own, by the name or file of its data sheet; hosts and
/// links stay. `notes` gets a sentence. Throws ConfigError for an unknown GPU, and for a cluster of
/// processors.
Cluster with_device(const Cluster& cluster, const std::string& device,
                    std::vector<std::string>& notes);

/// --straggler-spread: the variation of compute times among ranks, which machine files do not
/// describe.
struct StragglerOptions {
  std::string deviation;
  void declare(CLI::App& command);
  /// Throws ConfigError if it was given with an option under which it has no effect.
  void refuse_beside(const std::string& option) const;
  /// The spread of ranks; no deviation if none was given. Throws ConfigError.
  [[nodiscard]] model::RankSpread spread() const;
  /// The source of an assumed spread; empty if it was stated.
  [[nodiscard]] std::vector<std::string> notes() const;
};

}  // namespace dlscale::app
