#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/gate/run_values.hpp"
#include "core/system/descriptor.hpp"

namespace dlscale::app {

/// One of the things that take turns: a version of a program, or a kernel with more work.
struct Arm {
  std::string name;                  ///< "base"; names files, so letters, digits, - and _
  std::vector<std::string> command;  ///< {out} stands for what it writes
  std::vector<std::pair<std::string, std::string>> variables;
  Measure measure = Measure::automatic;
  enum class Kind { own, foreign } kind = Kind::foreign;  ///< whether its exit codes are dlscale's
  std::optional<double> timeout_s = {};  ///< of a run, after which it is ended and has failed
};

/// One round: every arm once, in a fresh process each, in random order.
struct Round {
  int number = 0;                  ///< from 1
  std::vector<std::string> order;  ///< names of arms
  std::map<std::string, RunOutcome> runs;
  double seconds = 0;  ///< of all its processes
  std::string date;    ///< at its end, ISO 8601, UTC
};

/// Rounds, and the folder that keeps them: rounds.jsonl, a line each, on disk before the next
/// begins; and beside it what the runs wrote. A round that was interrupted is dropped as a whole.
class InterleavedRounds {
 public:
  enum class Start { go_on, fresh };
  /// `question` is what the rounds answer, as JSON; rounds of another question in the folder, or of
  /// another process that is at work there, are a ConfigError. Ends what is left of a run whose
  /// program was killed. The order of round r depends on
  /// `seed` and r alone.
  InterleavedRounds(std::filesystem::path folder, std::vector<Arm> arms, std::uint64_t seed,
                    const std::string& question, Start start);

  [[nodiscard]] const std::vector<Round>& rounds() const { return rounds_; }
  /// Throws Interrupted on a signal; Error naming arm, round and log file if a run fails
  /// (wrong_result, or the program's own exit code where it is dlscale's) or what it wrote cannot
  /// be compared (the code of read_run()).
  void run_next();

 private:
  void lock();
  void read(const std::string& question);
  void begin(const std::string& question);
  void end_orphans(Start start) const;
  /// By which its processes are known.
  [[nodiscard]] std::string place_of_run(std::string_view stem) const;
  [[nodiscard]] RunOutcome run(const Arm& arm, int round, double& seconds) const;
  void append(const std::string& line);

  std::filesystem::path folder_;
  std::vector<Arm> arms_;
  std::uint64_t seed_;
  Descriptor file_;      ///< rounds.jsonl
  bool locked_ = false;  ///< for this process alone; not where the file system has no locks
  std::vector<Round> rounds_;
};

/// The order of round `number` of these arms.
std::vector<std::string> order_of_round(const std::vector<Arm>& arms, std::uint64_t seed,
                                        int number);

/// A command line as a shell reads it, as the command of an arm.
std::vector<std::string> shell_command(const std::string& text);

}  // namespace dlscale::app
