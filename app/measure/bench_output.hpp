#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "core/results/result_resume.hpp"

namespace dlscale::app {

/// Whether a result file is written from its start, or gone on with.
enum class Resume { no, yes };

/// The results of a benchmark on their way into a file, beside those that are there already.
///
/// Those of an earlier run that are not gone on with stand there until the first result is known: a
/// run that measures nothing, since a library cannot do what was asked or the data are missing,
/// replaces none.
class BenchOutput {
 public:
  /// `path`: a file or "-". Throws ConfigError as ResultWriter and find_resume_point().
  BenchOutput(const std::string& path, const ResultHeader& header, Resume resume);
  /// What an earlier run left; nothing without Resume::yes.
  [[nodiscard]] std::span<const Measurement> kept() const { return kept_; }
  /// Whether a cell with these axes is among them.
  [[nodiscard]] bool holds(const std::string& benchmark,
                           const std::map<std::string, std::string>& axes) const;
  void write(const Measurement& measurement);
  void finish();
  /// Whether results of an earlier run stand there as they were.
  [[nodiscard]] bool left_earlier_results() const { return !writer_.has_value(); }

 private:
  void begin();
  std::string path_;
  ResumePoint point_;
  std::vector<Measurement> waiting_;  ///< for the first result
  std::vector<Measurement> kept_;
  std::set<std::string> keys_;
  std::optional<ResultWriter> writer_;
};

/// Another file of the same command, by the option that names it.
struct NamedFile {
  std::string option;  ///< "--replay"
  std::string path;    ///< empty: none
};
/// Throws ConfigError if `output` is one of them: what it holds, or is to hold, would be lost.
void refuse_as_output(const NamedFile& output, std::span<const NamedFile> others);

}  // namespace dlscale::app
