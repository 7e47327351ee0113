#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/measurement.hpp"

namespace dlscale::app {

/// Whether a result file is written from its start, or gone on with.
enum class Resume { no, yes };

/// The results of a benchmark on their way into a file, beside those that are there already.
class BenchOutput {
 public:
  /// `path`: a file or "-". Throws ConfigError as ResultWriter and find_resume_point().
  BenchOutput(const std::string& path, const ResultHeader& header, Resume resume);
  /// What an earlier run left; nothing without Resume::yes.
  [[nodiscard]] std::span<const Measurement> kept() const { return kept_; }
  /// Whether a cell with these axes is among them.
  [[nodiscard]] bool holds(const std::string& benchmark,
                           const std::map<std::string, std::string>& axes) const;
  void write(const Measurement& measurement) { writer_->write(measurement); }
  void finish() { writer_->finish(); }

 private:
  std::vector<Measurement> kept_;
  std::set<std::string> keys_;
  std::optional<ResultWriter> writer_;
};

}  // namespace dlscale::app
