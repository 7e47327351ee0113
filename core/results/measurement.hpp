#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/statistics.hpp"
#include "core/network/step.hpp"
#include "core/system/environment.hpp"

namespace dlscale {

/// What became of a measurement.
enum class Status {
  ok,
  unstable,     ///< the stopping criterion was not met within the time allowed
  wrong,        ///< differs from the reference; carries no times
  unsupported,  ///< this library does not offer it; `reason` says so
  interrupted,  ///< a signal came; the samples so far are kept
};
std::string_view status_name(Status status);

/// Raw samples of one quantity: samples[rank][i]; a single-process benchmark has one rank.
struct Series {
  std::string unit;  ///< "s", "B", "1"
  std::vector<std::vector<double>> samples;
  Summary summary;  ///< of the maximum over ranks per sample (a step is as slow as its last rank)
};

/// Fills `summary` from the samples. Requires the same number of samples on every rank.
Series make_series(std::string unit, std::vector<std::vector<double>> samples);

/// The network that a training run trained.
struct TrainedNetwork {
  std::string source;       ///< as load_network() was given it: a name or a file
  std::string fingerprint;  ///< fingerprint() of what was in it
  bool operator==(const TrainedNetwork&) const = default;
};

/// One measured cell. `axes` (name → value as text) together with `benchmark` is its key: two
/// measurements with the same key answer the same question.
struct Measurement {
  std::string benchmark;  ///< "conv", "memory", "io", "comm", "e2e", …
  std::map<std::string, std::string> axes;
  Status status = Status::ok;
  std::string reason;                    ///< why not ok
  std::map<std::string, Series> series;  ///< "time" for simple benchmarks; e2e: "t_iter", "t_f", …
  std::optional<Work> work;              ///< per sample; rates are derived, never stored
  std::string implementation;            ///< what really ran, in the library's own words
  std::optional<double> max_relative_error;   ///< against reference; absent: not comparable
  std::optional<double> mean_relative_error;  ///< the same on average over all elements
  /// What the algorithm that ran really does, where that is known: more or less than `work`, which
  /// is what was asked for.
  std::optional<Work> algorithmic_work;
  std::optional<Bytes> workspace;   ///< memory beside the tensors
  std::optional<Seconds> creation;  ///< to create the operation, which is not in its time
  /// Operations executed a second, over those of the device's data sheet.
  std::optional<double> share_of_peak;
  /// The least time that measured ceilings allow, over the time: 1 is on the roofline.
  std::optional<double> share_of_roofline;
  std::vector<std::string> warnings;      ///< with advice
  std::optional<TrainedNetwork> network;  ///< of "e2e"; older files lack it

  [[nodiscard]] const Series& at(std::string_view series_name) const;  ///< throws ConfigError
  [[nodiscard]] const std::string& axis(std::string_view name) const;  ///< throws ConfigError
  [[nodiscard]] std::string key() const;  ///< "conv batch=8 … pass=forward", axes sorted
};

/// What a result file answers: written once at its top.
struct ResultHeader {
  std::string benchmark;
  std::vector<std::string> command;  ///< as typed
  std::map<std::string, std::string> run;
  Environment environment;
};

struct ResultFile {
  std::filesystem::path path;
  ResultHeader header;
  std::vector<Measurement> measurements;
  bool complete = false;  ///< closed by a last line; false after a crash or a signal
};

struct ResumePoint;

/// Result files are JSON Lines: a header {"schema": "dlscale.result", "version": 1, …}, one line a
/// measurement, and {"end": …}. Each line is on disk before the next cell is measured, so a crash,
/// a full disk or a signal loses at most the cell under way. Strict JSON, SI, unit in the key.
class ResultWriter {
 public:
  /// Creates the folder and the file (a temporary name is not used: partial results are wanted).
  /// Throws ConfigError if it cannot be written. "-" is standard output.
  ResultWriter(const std::filesystem::path& path, const ResultHeader& header);
  /// Goes on with a file of the same run (core/results/result_resume.hpp); what stands after that point is
  /// cut off. Throws as above.
  ResultWriter(const std::filesystem::path& path, const ResumePoint& point);
  ~ResultWriter();
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;
  ResultWriter(ResultWriter&&) noexcept;
  ResultWriter& operator=(ResultWriter&&) noexcept;
  void write(const Measurement& measurement);  ///< throws ConfigError when the disk is full
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws ConfigError naming file and line. A truncated last line is dropped (complete = false).
ResultFile read_results(const std::filesystem::path& path);
/// A file, or all *.jsonl below a folder, sorted by path.
std::vector<ResultFile> read_result_tree(const std::filesystem::path& path);

}  // namespace dlscale
