#include "app/measure/bench_output.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "app/cli/document_output.hpp"
#include "core/base/error.hpp"
#include "core/results/locked_results.hpp"
#include "core/results/result_json.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

std::string key_of(const std::string& benchmark, const std::map<std::string, std::string>& axes) {
  Measurement named;
  named.benchmark = benchmark;
  named.axes = axes;
  return named.key();
}

/// Whether the row has a result, which may be a wrong answer.
bool tells_something(const Measurement& measurement) {
  return !measurement.series.empty() || measurement.status == Status::wrong;
}

}  // namespace

BenchOutput::BenchOutput(const std::string& path, const ResultHeader& header, Resume resume)
    : path_(path) {
  if (resume == Resume::yes) {
    point_ = find_resume_point(path, header);
    kept_ = point_.measurements;
    for (const Measurement& measurement : kept_) keys_.insert(measurement.key());
    begin();
    return;
  }
  point_.opening = header_line(header);
  point_.file = std::make_shared<LockedResults>(path);
  if (!point_.file->is_regular() || fs::is_empty(path)) begin();
}

void BenchOutput::begin() {
  writer_.emplace(path_, point_);
  for (const Measurement& measurement : waiting_) writer_->write(measurement);
  waiting_.clear();
}

void BenchOutput::write(const Measurement& measurement) {
  if (!writer_ && !tells_something(measurement)) return waiting_.push_back(measurement);
  if (!writer_) begin();
  writer_->write(measurement);
}

void BenchOutput::finish() {
  if (writer_) writer_->finish();
}

bool BenchOutput::holds(const std::string& benchmark,
                        const std::map<std::string, std::string>& axes) const {
  return keys_.contains(key_of(benchmark, axes));
}

void refuse_as_output(const NamedFile& output, std::span<const NamedFile> others) {
  if (output.path.empty() || output.path == "-") return;
  for (const NamedFile& other : others) {
    if (other.path.empty() || !same_place(output.path, other.path)) continue;
    throw ConfigError(
        fmt::format("{0} and {1} both name {2}, so that one would overwrite the other. Name "
                    "another file with {0}.",
                    output.option, other.option, output.path));
  }
}

void Tally::count(const Measurement& measurement) {
  if (measurement.status == Status::wrong && wrong++ == 0) first_reason = measurement.reason;
  measured += measurement.series.empty() ? 0 : 1;
  unstable += measurement.status == Status::unstable ? 1 : 0;
}

ExitCode Tally::exit_code() const {
  if (wrong > 0) return ExitCode::wrong_result;
  return measured > 0 ? ExitCode::ok : ExitCode::nothing_measured;
}

void explain(ExitCode code, const Tally& tally, const std::string& left) {
  if (code == ExitCode::nothing_measured) {
    fmt::print(stderr,
               "dlscale: nothing was measured: no cell matches the options, or none is supported "
               "here.{}\n",
               left.empty() ? "" : fmt::format(" {} is left as it was.", left));
  }
  if (code == ExitCode::wrong_result) {
    fmt::print(
        stderr, "dlscale: {}, so no time is given: {}\n",
        tally.wrong == 1 ? "a result is wrong" : fmt::format("{} results are wrong", tally.wrong),
        tally.first_reason);
  }
}

}  // namespace dlscale::app
