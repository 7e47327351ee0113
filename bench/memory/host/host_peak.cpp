#include "bench/memory/host/host_peak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "backend/comm/together.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/memory/host/team.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using backend::simd::PeakKernel;

constexpr std::int64_t rounds_of_check = 1000;
constexpr std::int64_t rounds_of_pass = 65536;

/// Runs a kernel on all threads.
class Chains {
 public:
  Chains(const PeakKernel& kernel, int threads)
      : kernel_(&kernel), found_(static_cast<std::size_t>(threads)), team_(threads) {}

  /// Mean time of `passes` passes of that many rounds. Records wrong results.
  Seconds run(std::int64_t rounds, int passes) {
    const double allowed = kernel_->rounding * static_cast<double>(rounds);
    const Seconds all = team_.run([this, rounds, passes, allowed](int thread) {
      Found& mine = found_[static_cast<std::size_t>(thread)];
      for (int pass = 0; pass < passes; ++pass) {
        const double error = kernel_->run(rounds);
        if (!(error <= allowed)) mine.wrong += 1;  // also for a NaN
        mine.largest_error = std::max(mine.largest_error, error);
      }
    });
    return all / passes;
  }
  /// Wrong passes of all threads so far.
  [[nodiscard]] double wrong() const {
    double sum = 0;
    for (const Found& each : found_) sum += each.wrong;
    return sum;
  }
  [[nodiscard]] double largest_error() const {
    return std::ranges::max_element(found_, {}, &Found::largest_error)->largest_error;
  }

 private:
  /// Results of one thread.
  struct Found {
    double wrong = 0;  ///< wrong passes
    double largest_error = 0;
  };
  const PeakKernel* kernel_;
  std::vector<Found> found_;
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
    chains->run(rounds_of_check, 1);
  });
  const double error = chains->largest_error();
  Measurement measurement;
  if (sum_of_ranks(communicator, chains->wrong()) == 0) {
    const int passes =
        passes_for(communicator, [&](int count) { return chains->run(rounds_of_pass, count); });
    measurement = sampler.sample({.set_up = {}, .barrier = backend::WaitPolicy::spin, .once = [&] {
                                    return chains->run(rounds_of_pass, passes);
                                  }});
    measurement.max_relative_error = error;
  }
  if (const double wrong = sum_of_ranks(communicator, chains->wrong()); wrong > 0) {
    measurement = wrong_sums(wrong);
  }
  measurement.work =
      Work{Flops(kernel.flops * static_cast<double>(rounds_of_pass) * threads), Bytes(0)};
  measurement.implementation = fmt::format("{} multiply-adds in registers", kernel.isa);
  return measurement;
}

}  // namespace dlscale::bench
