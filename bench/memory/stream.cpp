
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <vector>

#include "backend/comm/together.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/memory/host/team.hpp"
#include "bench/memory/stream_operations.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

// Small whole numbers, so that every result is exact.
double first_input(std::size_t i) {
  return static_cast<double>(i % 251 + 1);
}
double second_input(std::size_t i) {
  return static_cast<double>(i % 127) - 63;
}

class Stream {
 public:
  Stream(const StreamOperation& operation, std::size_t n, int threads)
      : operation_(&operation),
        n_(n),
        a_(operation.inputs > 0 ? n : 0),
        b_(operation.inputs > 1 ? n : 0),
        out_(operation.outputs > 0 ? n : 0),
        sums_(static_cast<std::size_t>(threads)),
        team_(threads) {
    team_.run([this](int thread) { fill(part_of(n_, thread, team_.size())); });
  }

  /// Mean time of `passes` passes.
  Seconds run(int passes) {
    const Seconds all = team_.run([this, passes](int thread) {
      const auto [first, count] = part_of(n_, thread, team_.size());
      double sum = 0;
      for (int pass = 0; pass < passes; ++pass) {
        sum = operation_->run(count, a_.from(first), b_.from(first), out_.from(first));
      }
      sums_[static_cast<std::size_t>(thread)] = sum;
    });
    return all / passes;
  }

  /// Number of wrong elements; for a sum, all or none.
  [[nodiscard]] std::size_t wrong_elements() const {
    if (operation_->outputs == 0) return sum_is_right() ? 0 : n_;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n_; ++i) wrong += out_.from(i)[0] == expected(i) ? 0 : 1;
    return wrong;
  }

 private:
  [[nodiscard]] double expected(std::size_t i) const {
    return operation_->expected(first_input(i), second_input(i));
  }
  /// Whether the sum is right. The numbers are whole, so a double holds their sum exactly in any
  /// order.
  [[nodiscard]] bool sum_is_right() const {
    double right = 0;
    double found = 0;
    for (std::size_t i = 0; i < n_; ++i) right += expected(i);
    for (const double each : sums_) found += each;
    return found == right;
  }
  void fill(Part part) const {
    for (std::size_t i = part.first; i < part.first + part.count; ++i) {
      if (operation_->inputs > 0) a_.from(i)[0] = first_input(i);
      if (operation_->inputs > 1) b_.from(i)[0] = second_input(i);
      if (operation_->outputs > 0) out_.from(i)[0] = NAN;
    }
  }

  const StreamOperation* operation_;
  std::size_t n_;
  Array<double> a_;
  Array<double> b_;
  Array<double> out_;
  std::vector<double> sums_;  ///< by thread
  Team team_;
};

}  // namespace

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
  wrong = sum_of_ranks(communicator, wrong);
  Measurement measurement;
  if (wrong == 0) {
    const int passes = passes_for(communicator, [&](int count) { return stream->run(count); });
    measurement = sampler.sample({.set_up = {}, .barrier = backend::WaitPolicy::spin, .once = [&] {
                                    return stream->run(passes);
                                  }});
    measurement.max_relative_error = 0;  // all elements were compared
  } else {
    measurement.status = Status::wrong;
    measurement.reason = fmt::format("{} elements differ from the exact result", wrong);
  }
  const double array = 8.0 * static_cast<double>(n);
  measurement.work = Work{Flops(operation.flops * static_cast<double>(n)),
                          Bytes((operation.inputs + operation.outputs) * array)};
  measurement.implementation = operation.implementation;
  if (operation.write_allocates && !measurement.series.empty()) {
    measurement.series["write_allocate"] =
        make_series("B", gather_on_ranks(communicator, {array * operation.outputs}));
  }
  return measurement;
}

}  // namespace dlscale::bench
