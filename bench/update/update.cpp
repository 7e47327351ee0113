#include "bench/update/update.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/comm/together.hpp"
#include "backend/compute/precision.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/workbench/finding.hpp"
#include "bench/workbench/step_run.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/base/error.hpp"
#include "core/text/size_text.hpp"

namespace dlscale::bench {
namespace {

std::size_t parse_size(const std::string& text) {
  const std::int64_t bytes =
      parse_whole_elements(text, option_name("sizes"), sizeof(float), "parameters");
  return static_cast<std::size_t>(bytes) / sizeof(float);
}

std::vector<Cell> make_cells(Context& context) {
  const int threads = context.integer("threads");
  const DType dtype = parse_dtype(context.value("dtype"));
  const auto workbench = std::make_shared<Workbench>(
      open_device(context.value("backend"), threads, context.communicator->gpu()),
      open_device("reference", 1), threads);
  std::vector<CacheState> caches;
  for (const std::string& name : context.list("cache")) {
    caches.push_back(parse_cache_state(name, kernel_cache_states));
  }
  std::vector<Cell> cells;
  const std::vector<std::string> sizes = context.list("sizes");
  refuse_commas_in_numbers(option_name("sizes"), sizes);
  for (const auto& [size, cache] : combinations(sizes, caches)) {
    const std::size_t n = parse_size(size);
    auto axes = workbench->axes(*context.communicator);
    axes["bytes"] = std::to_string(n * sizeof(float));
    axes["dtype"] = dtype_name(dtype);
    axes["cache"] = cache_state_name(cache);
    cells.push_back({std::move(axes), [workbench, n, dtype, cache = cache](const Sampler& sampler) {
                       return measure_update(*workbench, n, dtype, sampler, cache);
                     }});
  }
  return cells;
}

constexpr backend::SgdStep sgd{
    .rate = 0.01F, .momentum = 0.9F, .weight_decay = 1e-4F, .gradient_scale = 0.5F};
constexpr float weight_sigma = 0.05F;
constexpr float gradient_sigma = 0.01F;
constexpr float momentum_sigma = 0.02F;
// A few roundings in f32 of terms at most ten times the result's root mean square.
constexpr double allowed_difference = 1e-5;

std::string implementation_of(Workbench& workbench) {
  return fmt::format("{} update", workbench.device().name());
}

/// Arrays of n parameters, as the optimizer has them.
class Arrays : public StepRun {
 public:
  Arrays(Workbench& workbench, std::size_t n, DType dtype)
      : workbench_(&workbench),
        n_(n),
        weights_(workbench.device().allocate(n * sizeof(float))),
        gradients_(workbench.device().allocate(n * sizeof(float))),
        momentum_(workbench.device().allocate(n * sizeof(float))) {
    if (dtype == DType::bf16) low_ = workbench.device().allocate(n * sizeof(std::uint16_t));
    fill(weights_, weight_sigma);
    fill(gradients_, gradient_sigma);
    fill(momentum_, momentum_sigma);
  }

  void run() override {
    workbench_->device().update(sgd, n_, floats(weights_), floats(gradients_), floats(momentum_),
                                reinterpret_cast<std::uint16_t*>(low_.get()));
  }

  [[nodiscard]] std::vector<std::span<std::byte>> produced() const override {
    return {{gradients_.get(), n_ * sizeof(float)}};
  }
  [[nodiscard]] std::string implementation() const override {
    return implementation_of(*workbench_);
  }

  /// Error after the first update: the largest difference to a computation in double, relative to
  /// the standard deviation of weights and momentum. For low-precision weights it is relative to
  /// their own precision.
  [[nodiscard]] double error() const {
    workbench_->device().synchronize();
    const OperandValues& values = workbench_->values();
    const std::vector<float> weights = fetch<float>(weights_);
    const std::vector<float> momentum = fetch<float>(momentum_);
    const auto low = low_ ? fetch<std::uint16_t>(low_) : std::vector<std::uint16_t>();
    double largest = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double w = values.at(i, weight_sigma);
      const double g = sgd.gradient_scale * double{values.at(i, gradient_sigma)};
      const double v =
          sgd.momentum * double{values.at(i, momentum_sigma)} + g + double{sgd.weight_decay} * w;
      const double updated = w - double{sgd.rate} * v;
      worsen(largest, (double{weights[i]} - updated) / double{weight_sigma});
      worsen(largest, (double{momentum[i]} - v) / double{momentum_sigma});
      if (low_) worsen(largest, low_error(low[i], weights[i]));
    }
    return largest;
  }

 private:
  static float* floats(const backend::Buffer& buffer) {
    return reinterpret_cast<float*>(buffer.get());
  }
  static void worsen(double& largest, double difference) {
    largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, std::abs(difference));
  }
  /// 0 if the bf16 weight is the f32 weight rounded to its 8 bits of significand, else infinite.
  static double low_error(std::uint16_t low, float master) {
    const double difference = double{backend::from_bfloat16(low)} - double{master};
    return std::abs(difference) <= std::ldexp(std::abs(double{master}), -8) ? 0 : HUGE_VAL;
  }
  void fill(const backend::Buffer& to, float sigma) {
    std::vector<float> values(n_);
    workbench_->values().fill(values, sigma);
    workbench_->device().copy_stream()->copy(reinterpret_cast<const std::byte*>(values.data()),
                                             to.get(), n_ * sizeof(float));
  }
  template <class T>
  [[nodiscard]] std::vector<T> fetch(const backend::Buffer& from) const {
    std::vector<T> values(n_);
    workbench_->device().copy_stream()->copy(
        from.get(), reinterpret_cast<std::byte*>(values.data()), n_ * sizeof(T));
    return values;
  }

  Workbench* workbench_;
  std::size_t n_;
  backend::Buffer weights_;
  backend::Buffer gradients_;
  backend::Buffer momentum_;
  backend::Buffer low_;
};

/// Work of a step: it reads weight, gradient and momentum, and writes weight and momentum (and the
/// low-precision weight), with 7 operations as in SgdStep.
Work declared_work(std::size_t n, DType dtype) {
  const double low = dtype == DType::bf16 ? 2 : 0;
  const auto elements = static_cast<double>(n);
  return {Flops(7 * elements), Bytes((5 * 4 + low) * elements)};
}

/// Bytes of the arrays, each counted once.
Bytes memory_of(std::size_t n, DType dtype) {
  const double low = dtype == DType::bf16 ? 2 : 0;
  return Bytes((3 * 4 + low) * static_cast<double>(n));
}

/// Throws Unsupported if memory is short: for the arrays, and on the host for compared copies.
void expect_memory_for(Workbench& workbench, std::size_t n, DType dtype, int ranks_on_node) {
  const Bytes all = memory_of(n, dtype);
  const Bytes gradient(static_cast<double>(n) * sizeof(float));
  expect_memory(workbench.device(), all, all - gradient, ranks_on_node);
}

/// The largest error of all ranks. Collective.
double largest_error(Workbench& workbench, std::size_t n, DType dtype,
                     backend::Communicator& communicator) {
  double error = 0;
  together(communicator, [&] {
    expect_memory_for(workbench, n, dtype, communicator.node_size());
    Arrays arrays(workbench, n, dtype);
    arrays.run();
    error = arrays.error();
  });
  communicator.all_reduce(std::span(&error, 1), backend::Reduction::max);
  return error;
}

Measurement wrong_update(double error) {
  Measurement measurement;
  measurement.status = Status::wrong;
  measurement.reason = fmt::format(
      "the updated arrays differ from a computation in double by {:.1e} ({:.0e} is allowed)", error,
      allowed_difference);
  return measurement;
}

Measurement time(Workbench& workbench, std::size_t n, DType dtype, const Sampler& sampler,
                 CacheState cache) {
  const Bytes each = memory_of(n, dtype);
  const int sets = operand_sets(workbench, cache, each);
  const Finding room = find_room(sampler.communicator(), workbench, sets, [each] { return each; });
  if (auto rejection = rejected(room, dtype)) return *rejection;
  return sample_on_sets(workbench, sampler, cache, sets,
                        [&] { return std::make_unique<Arrays>(workbench, n, dtype); });
}

Measurement check_and_time(Workbench& workbench, std::size_t n, DType dtype, const Sampler& sampler,
                           CacheState cache) {
  const double error = largest_error(workbench, n, dtype, sampler.communicator());
  Measurement measurement =
      error <= allowed_difference ? time(workbench, n, dtype, sampler, cache) : wrong_update(error);
  if (std::isfinite(error)) measurement.max_relative_error = error;
  return measurement;
}

}  // namespace

extern const Benchmark update;
const Benchmark update{
    .name = "update",
    .doc = "The SGD step over an array of parameters.",
    // Up to the parameters of VGG-19, 143,667,240 x 4 B (Simonyan & Zisserman 2015, table 2).
    .axes = {{"sizes", "bytes of f32 parameters",
              "64 KiB,256 KiB,1 MiB,4 MiB,16 MiB,64 MiB,256 MiB,574668960 B"},
             {"dtype", "f32; bf16: the step also writes the weights in bf16", "f32"},
             {"backend", "compute backend", "onednn"},
             {"threads", "compute threads per rank", "1"},
             {"cache",
              "what the caches hold when a step starts: cold, producer (the gradients), hot; "
              "rotating: cold by taking sets of arrays in turn",
              "cold"}},
    .cells = make_cells,
    .suites = Benchmark::Suites::none,
    .rows = Benchmark::Rows::kernels,
    .extra = Benchmark::Extra::offered};

Measurement measure_update(Workbench& workbench, std::size_t n, DType dtype, const Sampler& sampler,
                           CacheState cache) {
  Measurement measurement;
  try {
    measurement = check_and_time(workbench, n, dtype, sampler, cache);
  } catch (const Unsupported& error) {
    measurement = unsupported(error);
  }
  measurement.work = declared_work(n, dtype);
  measurement.implementation = implementation_of(workbench);
  return measurement;
}

}  // namespace dlscale::bench
