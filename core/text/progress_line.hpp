#pragma once
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dlscale {

/// A clock that never goes back; tests take one of their own.
using SteadyClock = std::function<std::chrono::steady_clock::time_point()>;
inline std::chrono::steady_clock::time_point steady_time() {
  return std::chrono::steady_clock::now();
}

/// Progress of a long operation: one line that is overwritten on a terminal, else a plain line at
/// most every half minute.
class ProgressLine {
 public:
  enum class Kind { silent, plain, terminal };
  /// The kind that suits standard error; silent if `quiet`.
  static Kind kind_for(bool quiet);

  explicit ProgressLine(Kind kind, std::FILE* to = stderr, SteadyClock clock = steady_time)
      : kind_(kind), to_(to), clock_(std::move(clock)) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// On a terminal, shows as much of the text as fits into one row: of a longer text only the last
  /// row could be overwritten.
  void show(const std::string& text);
  /// Clears the line before other output.
  void clear();

 private:
  Kind kind_;
  std::FILE* to_;
  SteadyClock clock_;
  bool shows_ = false;
  std::optional<std::chrono::steady_clock::time_point> last_;
};

/// Estimates the remaining time of a list of jobs: their estimates, scaled by how the completed
/// ones compared with theirs. A twentieth of the list counts as completed on time from the start,
/// so that short jobs, which say little, do not dominate.
class TimeLeft {
 public:
  explicit TimeLeft(std::span<const double> estimates);
  /// The estimates are the member `seconds` of each.
  template <class Jobs>
  static TimeLeft of(const Jobs& jobs) {
    std::vector<double> estimates;
    for (const auto& job : jobs) estimates.push_back(job.seconds);
    return TimeLeft(estimates);
  }
  /// Adds a job that was completed in this call or an earlier one.
  void finished(double estimate, double seconds);
  /// Removes a job that does not run.
  void left_out(double estimate) { estimate_left_ -= estimate; }
  [[nodiscard]] double seconds() const;

 private:
  double trusted_ = 0;
  double estimate_left_ = 0;
  double estimate_done_ = 0;
  double spent_ = 0;
};

/// Progress through parts of a work that take about equally long, in a ProgressLine:
/// "fits: 3 of 12 (about 4 min left)".
class PartsProgress {
 public:
  PartsProgress(std::string what, ProgressLine::Kind kind, std::FILE* to = stderr,
                SteadyClock clock = steady_time)
      : what_(std::move(what)), clock_(clock), start_(clock()), line_(kind, to, std::move(clock)) {}
  /// Shows that `done` of `all` parts are done.
  void show(std::size_t done, std::size_t all);

 private:
  std::string what_;
  SteadyClock clock_;
  std::chrono::steady_clock::time_point start_;
  ProgressLine line_;
};

/// The beginning of a line, ended by "…", that leaves the last of `columns` columns free; the whole
/// line if it fits.
std::string fitted(const std::string& text, std::size_t columns);

/// "45 s", "12 min", "3 h 20 min".
std::string duration_text(double seconds);

}  // namespace dlscale
