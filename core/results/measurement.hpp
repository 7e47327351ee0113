#pragma once
#include <cstdint>
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

/// Outcome of a measurement.
enum class Status {
  ok,
  unstable,     ///< the stopping criterion was not met within the time limit
  wrong,        ///< differs from the reference; carries no times
  unsupported,  ///< this library does not offer it; `reason` gives details
  interrupted,  ///< a signal arrived; the samples so far are kept
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

/// The network that a training run used.
struct TrainedNetwork {
  std::string source;       ///< argument of load_network(): a name or a file
  std::string fingerprint;  ///< fingerprint() of its content
  bool operator==(const TrainedNetwork&) const = default;
};

/// One measured cell. `axes` (name → value as text) and `benchmark` are its key: two measurements
/// with the same key measure the same thing.
struct Measurement {
  std::string benchmark;  ///< "conv", "memory", "io", "comm", "e2e", …
  std::map<std::string, std::string> axes;
  Status status = Status::ok;
  std::string reason;                    ///< why the status is not ok
  std::map<std::string, Series> series;  ///< "time" for simple benchmarks; e2e: "t_iter", "t_f", …
  std::optional<Work> work;              ///< per sample; rates are derived, never stored
  std::string implementation;            ///< the algorithm that ran, in the library's own words
  std::optional<double> max_relative_error;   ///< against the reference; absent: not comparable
  std::optional<double> mean_relative_error;  ///< the same on average over all elements
  /// Work that the algorithm actually does, if known: more or less than `work`, which is nominal.
  std::optional<Work> algorithmic_work;
  std::optional<Bytes> workspace;  ///< memory beside the tensors
  /// Time to create the operation, which its time does not include.
  std::optional<Seconds> creation;
  /// Executed operations per second, as a fraction of the data sheet's peak.
  std::optional<double> share_of_peak;
  /// Minimum time by the measured ceilings, divided by the time: 1 is on the roofline.
  std::optional<double> share_of_roofline;
  std::vector<std::string> warnings;      ///< with advice
  std::optional<TrainedNetwork> network;  ///< only for "e2e"; older files lack it

  [[nodiscard]] const Series& at(std::string_view series_name) const;  ///< throws ConfigError
  [[nodiscard]] const std::string& axis(std::string_view name) const;  ///< throws ConfigError
  [[nodiscard]] std::string key() const;  ///< "conv batch=8 … pass=forward", axes sorted
};

/// Context of a result file, written once at its top.
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
  bool complete = false;  ///< closed by an end line; false after a crash or a signal
};

struct ResumePoint;

/// Result files are JSON Lines: a header {"schema": "dlscale.result", "version": 1, …}, one line
/// per measurement, and {"end": …}. Each line is on disk before the next cell is measured. So a
/// crash, a full disk or a signal loses at most the current cell. Strict JSON, SI, unit in the key.
class ResultWriter {
 public:
  /// Creates the folder and the file, without a temporary name, because partial results are wanted.
  /// Throws ConfigError if it cannot be written. "-" is standard output.
  ResultWriter(const std::filesystem::path& path, const ResultHeader& header);
  /// Continues a file of the same run (core/results/result_resume.hpp); content after that point is
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

/// Throws ConfigError, which names file and line. A truncated last line is dropped (complete =
/// false).
ResultFile read_results(const std::filesystem::path& path);
/// Reads a file, or all *.jsonl below a folder, sorted by path.
std::vector<ResultFile> read_result_tree(const std::filesystem::path& path);

/// Reasons why a GPU runs slower than requested, among the bits of DeviceState::throttle_reasons: a
/// power or temperature limit, or an external brake. An idle GPU, and clocks set by the user or a
/// display, are not throttling.
std::vector<std::string> throttle_names(std::uint64_t reasons);
/// NVML's nvmlClocksEventReasonSwPowerCap. GPUs work at their power cap under load, so suites and
/// the gate do not count it as throttling.
inline constexpr std::uint64_t power_cap_reason = 0x04;
/// Whether a reading in a file is a whole number of bits: a double holds each below 2^53.
inline bool holds_bits(double reading) {
  return reading >= 0 && reading < 9007199254740992.0;
}

}  // namespace dlscale
