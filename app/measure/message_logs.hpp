#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/timed_layers.hpp"
#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Collectives that another program timed, as rows of bench comm, so that everything that uses such
/// rows takes logs as well.
struct MessageLog {
  ResultFile rows;
  std::vector<std::string> notes;  ///< what was left out, and why
};

/// Whether the file is the text of nccl-tests or of OSU's benchmarks.
bool is_message_log(const std::string& path);

/// --log-ranks: numbers of ranks of logs that do not state them, as those of OSU's benchmarks. One
/// number is that of all logs; several are theirs in turn.
class LogRanks {
 public:
  void declare(CLI::App& verb);
  /// The number of the next log that states none. Throws ConfigError if it is missing.
  int next(const std::string& path);
  /// Throws ConfigError for numbers that no log needed.
  void expect_used() const;

 private:
  std::vector<int> ranks_;
  std::size_t used_ = 0;
};

/// Reads a log, or a CSV file of all-reduces (core/network/timed_layers.hpp). Ranks fill nodes of
/// `devices_per_node`, unless a log states its hosts. Throws ConfigError, also without a message
/// that training sends.
MessageLog read_messages(const std::string& path, LogRanks& ranks, int devices_per_node);

/// All-reduces in rows of bench comm. Throws ConfigError if there are none.
std::vector<TimedMessage> timed_all_reduces(const ResultFile& rows);

/// The machine with the messages of `measured` in place of its own; all else stays.
model::Machine with_messages(model::Machine machine, const model::Machine& measured);

}  // namespace dlscale::app
