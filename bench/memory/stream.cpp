#include "bench/memory/stream.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "bench/memory/team.hpp"
#include "bench/together.hpp"
#include "core/error.hpp"

namespace dlscale::bench {
namespace {

constexpr double scalar = 3.0;

void copy(std::size_t n, const double* a, const double* /*b*/, double* out) {
  std::memcpy(out, a, n * sizeof(double));
}
void scale(std::size_t n, const double* __restrict a, const double* /*b*/, double* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = scalar * a[i];
}
void add(std::size_t n, const double* __restrict a, const double* __restrict b,
         double* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}
void triad(std::size_t n, const double* __restrict a, const double* __restrict b,
           double* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + scalar * b[i];
}

constexpr std::array operations{
    StreamOperation{"copy", "memcpy of the C library", 1, 0, copy,
                    [](double a, double) { return a; }},
    StreamOperation{"scale", "compiled loop", 1, 1, scale,
                    [](double a, double) { return scalar * a; }},
    StreamOperation{"add", "compiled loop", 2, 1, add, [](double a, double b) { return a + b; }},
    StreamOperation{"triad", "compiled loop", 2, 2, triad,
                    [](double a, double b) { return a + scalar * b; }},
};

// Small whole numbers, so that every result is exact.
double first_input(std::size_t i) {
  return static_cast<double>(i % 251 + 1);
}
double second_input(std::size_t i) {
  return static_cast<double>(i % 127) - 63;
}

/// Doubles whose pages nobody has touched yet: each comes to lie near the thread that touches it
/// first.
class Array {
 public:
  explicit Array(std::size_t n)
      : values_(static_cast<double*>(::operator new(n * sizeof(double), alignment))) {}
  ~Array() { ::operator delete(values_, alignment); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  [[nodiscard]] double* data() const { return values_; }

 private:
  static constexpr std::align_val_t alignment{4096};
  double* values_;
};

class Stream {
 public:
  Stream(const StreamOperation& operation, std::size_t n, int threads)
      : operation_(&operation), n_(n), a_(n), b_(two_inputs() ? n : 0), out_(n), team_(threads) {
    team_.run([this](int thread) { fill(part_of(n_, thread, team_.size())); });
  }

  /// The time of one pass, the mean of `passes`.
  Seconds run(int passes) {
    const Seconds all = team_.run([this, passes](int thread) {
      const auto [first, count] = part_of(n_, thread, team_.size());
      const double* b = two_inputs() ? b_.data() + first : nullptr;
      for (int pass = 0; pass < passes; ++pass) {
        operation_->run(count, a_.data() + first, b, out_.data() + first);
      }
    });
    return all / passes;
  }

  /// How many elements are not what they should be.
  [[nodiscard]] std::size_t wrong_elements() const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      wrong += out_.data()[i] == operation_->expected(first_input(i), second_input(i)) ? 0 : 1;
    }
    return wrong;
  }

 private:
  [[nodiscard]] bool two_inputs() const { return operation_->inputs > 1; }
  void fill(Part part) const {
    for (std::size_t i = part.first; i < part.first + part.count; ++i) {
      a_.data()[i] = first_input(i);
      if (two_inputs()) b_.data()[i] = second_input(i);
      out_.data()[i] = NAN;
    }
  }

  const StreamOperation* operation_;
  std::size_t n_;
  Array a_;
  Array b_;
  Array out_;
  Team team_;
};

/// A single pass over a small array is too short for the clock.
int passes_for(std::size_t bytes) {
  constexpr std::size_t enough = std::size_t{1} << 20;
  return static_cast<int>(std::max<std::size_t>(1, enough / bytes));
}

}  // namespace

const StreamOperation& find_stream_operation(std::string_view name) {
  std::vector<std::string_view> names;
  for (const StreamOperation& operation : operations) {
    if (operation.name == name) return operation;
    names.push_back(operation.name);
  }
  throw ConfigError(
      fmt::format("--operations names \"{}\" (no such operation). Choose among {}, h2d.", name,
                  fmt::join(names, ", ")));
}

Measurement measure_stream(const StreamOperation& operation, std::size_t bytes, int threads,
                           const Sampler& sampler) {
  backend::Communicator& communicator = sampler.communicator();
  const std::size_t n = bytes / sizeof(double);
  std::optional<Stream> stream;
  double wrong = 0;
  together(communicator, [&] {
    stream.emplace(operation, n, threads);
    stream->run(1);
    wrong = static_cast<double>(stream->wrong_elements());
  });
  communicator.all_reduce(std::span(&wrong, 1), backend::Reduction::sum);
  Measurement measurement;
  if (wrong == 0) {
    measurement = sampler.sample({.set_up = {}, .meeting = backend::Waiting::spin, .once = [&] {
                                    return stream->run(passes_for(bytes));
                                  }});
    measurement.max_relative_error = 0;  // every element was compared
  } else {
    measurement.status = Status::wrong;
    measurement.reason = fmt::format("{} elements differ from the exact result", wrong);
  }
  const auto elements = static_cast<double>(n);
  measurement.work =
      Work{Flops(operation.flops * elements), Bytes(8.0 * (operation.inputs + 1) * elements)};
  measurement.implementation = operation.implementation;
  return measurement;
}

}  // namespace dlscale::bench
