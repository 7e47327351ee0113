#include "bench/memory/host_peak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "bench/gather.hpp"
#include "bench/memory/team.hpp"
#include "bench/together.hpp"
#include "core/error.hpp"

namespace dlscale::bench {
namespace {

using backend::simd::PeakKernel;

constexpr std::int64_t rounds_of_check = 1000;
constexpr std::int64_t rounds_of_sample = 65536;

/// Runs a kernel on all threads.
class Chains {
 public:
  Chains(const PeakKernel& kernel, int threads)
      : kernel_(&kernel), errors_(static_cast<std::size_t>(threads)), team_(threads) {}

  /// Remembers whether a result was wrong.
  Seconds run(std::int64_t rounds) {
    const Seconds time = team_.run([this, rounds](int thread) {
      errors_[static_cast<std::size_t>(thread)] = kernel_->run(rounds);
    });
    for (const double error : errors_) {
      if (!(error <= kernel_->rounding * static_cast<double>(rounds))) wrong_ += 1;
      last_error_ = std::max(last_error_, error);
    }
    return time;
  }
  [[nodiscard]] double wrong() const { return wrong_; }
  [[nodiscard]] double last_error() const { return last_error_; }

 private:
  const PeakKernel* kernel_;
  std::vector<double> errors_;
  double wrong_ = 0;
  double last_error_ = 0;
  Team team_;
};

Measurement wrong_sums(double runs) {
  Measurement measurement;
  measurement.status = Status::wrong;
  measurement.reason =
      fmt::format("the sums of {} runs of multiply-adds are not what they should be", runs);
  return measurement;
}

}  // namespace

Measurement measure_peak(const PeakKernel& kernel, int threads, const Sampler& sampler) {
  backend::Communicator& communicator = sampler.communicator();
  std::optional<Chains> chains;
  together(communicator, [&] {
    chains.emplace(kernel, threads);
    chains->run(rounds_of_check);
  });
  const double error = chains->last_error();
  Measurement measurement;
  if (sum_of_ranks(communicator, chains->wrong()) == 0) {
    measurement = sampler.sample({.set_up = {}, .meeting = backend::Waiting::spin, .once = [&] {
                                    return chains->run(rounds_of_sample);
                                  }});
    measurement.max_relative_error = error;
  }
  if (const double wrong = sum_of_ranks(communicator, chains->wrong()); wrong > 0) {
    measurement = wrong_sums(wrong);
  }
  measurement.work =
      Work{Flops(kernel.flops * static_cast<double>(rounds_of_sample) * threads), Bytes(0)};
  measurement.implementation = fmt::format("{} multiply-adds in registers", kernel.isa);
  return measurement;
}

}  // namespace dlscale::bench
