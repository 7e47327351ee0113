#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "app/cells/progress_line.hpp"
#include "report/regression/gate_report.hpp"

namespace dlscale::app {

/// How far a session of rounds is: one line of standard error that is written over where that is a
/// terminal, and else a plain line at most every half minute.
class RoundProgress {
 public:
  using Kind = CellProgressLine::Kind;
  /// What suits standard error; silent where that was asked for.
  static Kind kind_for(bool quiet) { return CellProgressLine::kind_for(quiet); }

  explicit RoundProgress(Kind kind) : kind_(kind) {}
  ~RoundProgress();
  RoundProgress(const RoundProgress&) = delete;
  RoundProgress& operator=(const RoundProgress&) = delete;
  void show(const std::string& text);
  /// Clears the way for other lines.
  void clear();

 private:
  Kind kind_;
  bool shows_ = false;
  std::optional<std::chrono::steady_clock::time_point> last_;
};

/// "[12/40 rounds] 2 of 8 metrics open, gemm kernel=64x64x64 +0.4 % ±0.9 (at most 3 min left)": the
/// effect is that of the open metric that looks worst, with half its interval. `round_s` is how
/// long a round takes; `budget_s`, what is left of a budget of time.
std::string gate_progress(const report::GateReport& report, double round_s,
                          const std::optional<double>& budget_s);

/// "[3 rounds, 1.5 of 10.0 min] (about 9 min left)".
std::string noise_progress(int rounds, double spent_s, double budget_s);

}  // namespace dlscale::app
