#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/gate/interleaved.hpp"
#include "regression/gate/gate_report.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// The folder of a session of rounds: that of -o, where a second call resumes, or a temporary
/// folder that this object deletes at its end.
class SessionFolder {
 public:
  SessionFolder() = default;
  ~SessionFolder();
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;

  /// Adds the options -o and --restart.
  void declare(CLI::App& verb);
  /// Creates the folder. Throws ConfigError.
  void open(const std::string& kind);
  /// Keeps a temporary folder after a failure, and prints its path on standard error.
  void keep();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is_kept() const { return temporary_.empty(); }
  [[nodiscard]] InterleavedRounds::Start start() const {
    return fresh_ ? InterleavedRounds::Start::fresh : InterleavedRounds::Start::go_on;
  }

 private:
  std::string path_;
  std::string temporary_;
  bool fresh_ = false;
};

/// "[12/40 rounds] 2 of 8 metrics open, gemm kernel=64x64x64 +0.4 % ±0.9 (at most 3 min left)". The
/// effect is that of the worst open metric, with half its interval. `round_s` is the time of a
/// round, `budget_s` the time left of a budget.
std::string gate_progress(const regression::GateReport& report, double round_s,
                          const std::optional<double>& budget_s);

/// "[3 rounds, 1.5 of 10.0 min] (about 9 min left)".
std::string noise_progress(int rounds, double spent_s, double budget_s);

/// Whether a dlscale command names its output file, in any spelling of -o,--output: "-o FILE",
/// "-oFILE", "--output FILE", "--output=FILE"; or --out of `data make`.
bool names_output(const std::vector<std::string>& words);

/// The other words, in their order.
std::vector<std::string> without_output(const std::vector<std::string>& words);

}  // namespace dlscale::app
