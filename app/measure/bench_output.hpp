#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "core/results/result_resume.hpp"

namespace dlscale::app {

/// Whether a result file is written from its start, or resumed.
enum class Resume { no, yes };

/// Writes the results of a benchmark to a file, after those that it already has.
///
/// An earlier run's results that are not resumed stay until the first new result. So a run that
/// measures nothing, because a library lacks the operation or the data are missing, replaces
/// nothing.
class BenchOutput {
 public:
  /// `path`: a file or "-". Throws ConfigError as ResultWriter and find_resume_point() do.
  BenchOutput(const std::string& path, const ResultHeader& header, Resume resume);
  /// Results of an earlier run; none without Resume::yes.
  [[nodiscard]] std::span<const Measurement> kept() const { return kept_; }
  /// Whether the earlier results have a cell with these axes.
  [[nodiscard]] bool holds(const std::string& benchmark,
                           const std::map<std::string, std::string>& axes) const;
  void write(const Measurement& measurement);
  void finish();
  /// Whether the file still holds the unchanged results of an earlier run.
  [[nodiscard]] bool left_earlier_results() const { return !writer_.has_value(); }

 private:
  void begin();
  std::string path_;
  ResumePoint point_;
  std::vector<Measurement> waiting_;  ///< held back until the first result
  std::vector<Measurement> kept_;
  std::set<std::string> keys_;
  std::optional<ResultWriter> writer_;
};

/// Counts of the measurements of a run.
struct Tally {
  int wrong = 0;
  int measured = 0;
  int unstable = 0;
  std::string first_reason;  ///< reason of the first wrong result
  void count(const Measurement& measurement);
  [[nodiscard]] ExitCode exit_code() const;
};
/// Says on standard error why a run has this exit code. `left` is the file that keeps its earlier
/// results; empty if there is none.
void explain(ExitCode code, const Tally& tally, const std::string& left);

/// Another file of the same command, with the option that names it.
struct NamedFile {
  std::string option;  ///< "--profile"
  std::string path;    ///< empty: none
};
/// Throws ConfigError if `output` is one of the others, whose content would be lost.
void refuse_as_output(const NamedFile& output, std::span<const NamedFile> others);

}  // namespace dlscale::app
