#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/document_output.hpp"
#include "core/base/error.hpp"
#include "regression/gate/gate_report.hpp"
#include "regression/gate/noise_study.hpp"
#include "regression/rounds/interleaved_rounds.hpp"
#include "report/table/table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Receives the rounds of a session: a gate, or a study of noise.
class RoundsTask {
 public:
  RoundsTask() = default;
  virtual ~RoundsTask() = default;
  RoundsTask(const RoundsTask&) = delete;
  RoundsTask& operator=(const RoundsTask&) = delete;

  virtual void add(const regression::Round& round) = 0;
  [[nodiscard]] virtual bool wants_more() const = 0;
  /// The line of progress after a round.
  [[nodiscard]] virtual std::string progress() const = 0;
  /// A sentence to say once before the next round; mostly empty.
  [[nodiscard]] virtual std::string news() { return ""; }
};

/// The session of a verb that measures in rounds: its options, its folder and its answer. The
/// folder is that of -o, where a second call resumes, or a temporary folder that this object
/// deletes at its end.
class RoundsSession {
 public:
  explicit RoundsSession(std::string verb) : verb_(std::move(verb)) {}
  ~RoundsSession();
  RoundsSession(const RoundsSession&) = delete;
  RoundsSession& operator=(const RoundsSession&) = delete;

  /// Adds the options of every such verb: seed, folder, formats, progress.
  void declare(CLI::App& command);
  /// Checks the formats and the folder before anything runs; `like` is a document with the columns
  /// of the answer. Throws ConfigError.
  void check(const report::Document& like) const;
  /// Measures until the task wants no more, after the rounds that the folder already has. These are
  /// refused if they have other commands, another seed or other `facts` (a JSON object). Keeps the
  /// rounds if a run fails.
  void measure(const std::vector<regression::Arm>& arms, const nlohmann::ordered_json& facts,
               RoundsTask& task);
  /// Prints the answer, and writes it into the folder and in the further formats.
  void write(report::Document document);
  /// Runs `work`, and keeps the rounds of a temporary folder if it fails, naming the folder on
  /// standard error.
  template <class Work>
  auto keep_on_failure(Work work) {
    try {
      return work();
    } catch (const Error&) {
      keep();
      throw;
    }
  }
  /// The file of the answer in JSON; empty without a folder that stays.
  [[nodiscard]] std::string answer_file() const;
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// Whether rounds of an earlier call may be discarded by an option.
  [[nodiscard]] bool is_kept() const { return temporary_.empty(); }

 private:
  void check_folder() const;
  void open();
  void keep();
  /// Throws ConfigError that names the options of the folder.
  [[nodiscard]] regression::InterleavedRounds rounds_in_folder(
      const std::vector<regression::Arm>& arms, const std::string& question) const;

  std::string verb_;
  std::string path_;
  std::string temporary_;
  bool fresh_ = false;
  std::uint64_t seed_ = 1;
  bool quiet_ = false;
  std::string format_ = "table";
  FurtherForms further_;
  std::string colour_ = "auto";
};

/// "Sample CPU, 2 cores".
std::string machine_text();

/// "[12/40 rounds] 2 of 8 metrics open, gemm kernel=64x64x64 +0.4 % ±0.9 (at most 3 min left)". The
/// effect is that of the worst open metric, with half its interval. `round_s` is the time of a
/// round, `budget_s` the time left of a budget.
std::string gate_progress(const regression::GateReport& report, double round_s,
                          const std::optional<double>& budget_s);

/// "[3 rounds, 1.5 of 10.0 min] (about 9 min left)".
std::string noise_progress(int rounds, double spent_s, double budget_s);

/// The study as {"schema": "dlscale.noise", "version": 1, …}.
report::Document noise_document(const regression::NoiseStudy& study);

/// Whether a dlscale command names its output file, in any spelling of -o,--output: "-o FILE",
/// "-oFILE", "--output FILE", "--output=FILE"; or --out of `data make`.
bool names_output(const std::vector<std::string>& words);

/// The other words, in their order.
std::vector<std::string> without_output(const std::vector<std::string>& words);

}  // namespace dlscale::app
