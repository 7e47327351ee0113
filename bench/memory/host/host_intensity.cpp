#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "backend/comm/together.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/memory/host/host_peak.hpp"
#include "bench/memory/host/team.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using backend::simd::ArrayKernels;
using backend::simd::IntensityLoop;
using backend::simd::IntensityStep;

/// Number of different element values, which repeat: few enough to recompute each.
constexpr std::size_t different = 251;

/// Operations on an element in a pass.
struct Steps {
  int multiply_adds = 0;
  bool addition = false;
};

template <class Float>
Float start_value(std::size_t i) {
  return static_cast<Float>(1) + static_cast<Float>(i % different) / static_cast<Float>(different);
}

template <class Float>
Float after(const Steps& steps, Float x) {
  for (int k = 0; k < steps.multiply_adds; ++k) {
    x = std::fma(x, IntensityStep<Float>::b, IntensityStep<Float>::c);
  }
  return steps.addition ? x + IntensityStep<Float>::c : x;
}

template <class Float>
class Passes {
 public:
  Passes(IntensityLoop<Float> loop, const Steps& steps, std::size_t n, int threads)
      : loop_(loop), steps_(steps), n_(n), x_(n), team_(threads) {
    team_.run([this](int thread) {
      const Part part = mine(thread);
      for (std::size_t i = part.first; i < part.first + part.count; ++i) {
        x_.from(i)[0] = start_value<Float>(i);
      }
    });
  }

  /// Mean time of a pass.
  Seconds run(int passes) {
    const Seconds all = team_.run([this, passes](int thread) {
      const Part part = mine(thread);
      for (int pass = 0; pass < passes; ++pass) {
        loop_(part.count, steps_.multiply_adds, steps_.addition, x_.from(part.first));
      }
    });
    return all / passes;
  }

  /// Largest relative error of an element after the first pass. Without fused multiply-add each
  /// step has one more rounding.
  [[nodiscard]] double largest_error() const {
    std::vector<Float> expected(different);
    for (std::size_t i = 0; i < different; ++i) expected[i] = after(steps_, start_value<Float>(i));
    double largest = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const auto right = static_cast<double>(expected[i % different]);
      const double error = std::abs(static_cast<double>(x_.from(i)[0]) - right) / right;
      if (!(error <= largest)) largest = error;
      if (std::isnan(largest)) break;
    }
    return largest;
  }
  [[nodiscard]] double tolerance() const {
    return (steps_.multiply_adds + 1) * static_cast<double>(std::numeric_limits<Float>::epsilon());
  }

 private:
  /// A thread's part in whole cache lines, as part_of() cuts doubles.
  [[nodiscard]] Part mine(int thread) const {
    constexpr std::size_t each = sizeof(double) / sizeof(Float);
    const Part part = part_of(n_ / each, thread, team_.size());
    return {part.first * each, part.count * each};
  }

  IntensityLoop<Float> loop_;
  Steps steps_;
  std::size_t n_;
  Array<Float> x_;
  Team team_;
};

/// Operations per element for an intensity; every element is loaded and stored.
Steps steps_of(const IntensitySpec& spec, std::size_t element) {
  const double operations = spec.intensity * 2 * static_cast<double>(element);
  if (operations >= 1 && operations == std::floor(operations)) {
    const int whole = static_cast<int>(operations);
    return {.multiply_adds = whole / 2, .addition = whole % 2 != 0};
  }
  throw Unsupported(
      fmt::format("{} operations a byte are {} for an element of {}, not a whole number",
                  spec.intensity, operations, spec.dtype));
}

template <class Float>
Measurement measure_loop(const IntensitySpec& spec, IntensityLoop<Float> loop, int threads,
                         const Sampler& sampler) {
  backend::Communicator& communicator = sampler.communicator();
  const Steps steps = steps_of(spec, sizeof(Float));
  const std::size_t n = spec.bytes / sizeof(Float);
  std::optional<Passes<Float>> passes;
  double error = 0;
  double wrong = 0;
  together(communicator, [&] {
    passes.emplace(loop, steps, n, threads);
    passes->run(1);
    error = passes->largest_error();
    wrong = error <= passes->tolerance() ? 0 : 1;
  });
  Measurement measurement;
  if (sum_of_ranks(communicator, wrong) > 0) {
    measurement.status = Status::wrong;
    measurement.reason = fmt::format("elements differ from the right ones by {:.2g}", error);
  } else {
    const int count = passes_for(communicator, [&](int tried) { return passes->run(tried); });
    measurement = sampler.sample({.set_up = {}, .barrier = backend::WaitPolicy::spin, .once = [&] {
                                    return passes->run(count);
                                  }});
    measurement.max_relative_error = error;
  }
  const auto elements = static_cast<double>(n);
  measurement.work = Work{Flops((2 * steps.multiply_adds + (steps.addition ? 1 : 0)) * elements),
                          Bytes(2 * static_cast<double>(spec.bytes))};
  measurement.implementation = fmt::format("{} loop", spec.isa);
  return measurement;
}

}  // namespace

Measurement measure_intensity(const IntensitySpec& spec, int threads, const Sampler& sampler) {
  try {
    const ArrayKernels& kernels = backend::simd::array_kernels_of(spec.isa);
    return spec.dtype == "f32"
               ? measure_loop<float>(spec, kernels.intensity_f32, threads, sampler)
               : measure_loop<double>(spec, kernels.intensity_f64, threads, sampler);
  } catch (const Unsupported& error) {
    return unsupported(error);
  }
}

}  // namespace dlscale::bench
