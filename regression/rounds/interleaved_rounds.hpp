#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/system/output_file.hpp"
#include "regression/gate/round.hpp"
#include "regression/rounds/run_values.hpp"

namespace dlscale::regression {

/// One of the alternatives that take turns: a version of a program, or a kernel with more work.
struct Arm {
  std::string name;                  ///< "base"; names files, so letters, digits, - and _
  std::vector<std::string> command;  ///< {out} stands for the file or folder that it writes
  std::vector<std::pair<std::string, std::string>> variables;
  Measure measure = Measure::automatic;
  /// Whether its exit codes are dlscale's; else its last word is a command line of a shell.
  enum class Kind { own, foreign } kind = Kind::foreign;
  std::optional<double> timeout_s = {};  ///< time limit of a run, which then ends as failed
};

/// Name of the file of rounds in their folder.
inline constexpr const char* rounds_file = "rounds.jsonl";

/// Rounds and the folder that keeps them. rounds.jsonl has one line for each round, written to disk
/// before the next begins; the outputs of the runs lie beside it. An interrupted round is dropped
/// as a whole.
class InterleavedRounds {
 public:
  enum class Start { go_on, fresh };
  /// `question` describes the comparison as JSON. Throws ConfigError if the folder has rounds of
  /// another question, or if another process works there. Ends processes that a killed program has
  /// left running. The order of round r depends only on `seed` and r.
  InterleavedRounds(std::filesystem::path folder, std::vector<Arm> arms, std::uint64_t seed,
                    const std::string& question, Start start);

  [[nodiscard]] const std::vector<Round>& rounds() const { return rounds_; }
  /// Throws Interrupted on a signal, and Error naming arm, round and log file if a run fails. Its
  /// code is wrong_result, the exit code of a dlscale program, or, for output that cannot be
  /// compared, that of read_run().
  void run_next();

 private:
  void lock();
  void read(const std::string& question);
  void begin(const std::string& question);
  void end_orphans(Start start) const;
  /// The mark by which the processes of a run are found.
  [[nodiscard]] std::string place_of_run(std::string_view stem) const;
  [[nodiscard]] RunOutcome run(const Arm& arm, int round, double& seconds) const;
  void append(const std::string& line);

  std::filesystem::path folder_;
  std::vector<Arm> arms_;
  std::uint64_t seed_;
  Descriptor file_;      ///< rounds.jsonl
  bool locked_ = false;  ///< false if the file system has no locks
  std::vector<Round> rounds_;
};

/// The order of the arms in round `number`.
std::vector<std::string> order_of_round(const std::vector<Arm>& arms, std::uint64_t seed,
                                        int number);

/// The command of an arm that runs a command line in a shell.
std::vector<std::string> shell_command(const std::string& text);

}  // namespace dlscale::regression
