#include "app/bench_output.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/result_resume.hpp"

namespace dlscale::app {
namespace {

std::string key_of(const std::string& benchmark, const std::map<std::string, std::string>& axes) {
  Measurement named;
  named.benchmark = benchmark;
  named.axes = axes;
  return named.key();
}

}  // namespace

BenchOutput::BenchOutput(const std::string& path, const ResultHeader& header, Resume resume) {
  if (resume == Resume::no) {
    writer_.emplace(path, header);
    return;
  }
  ResumePoint point = find_resume_point(path, header);
  writer_.emplace(path, point);
  kept_ = std::move(point.measurements);
  for (const Measurement& measurement : kept_) keys_.insert(measurement.key());
}

bool BenchOutput::holds(const std::string& benchmark,
                        const std::map<std::string, std::string>& axes) const {
  return keys_.contains(key_of(benchmark, axes));
}

}  // namespace dlscale::app
