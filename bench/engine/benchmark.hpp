#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/base/error.hpp"
#include "core/base/family.hpp"
#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// A slow-down of known size, for studies of the smallest change that noise lets one detect. Every
/// sample times 100 runs and the given percentage more, and is divided by 100. Samples of any
/// percentage, 0 % included, read the clock equally often, so they compare only with each other.
/// Rows record it in an axis (core/results/usable_rows.hpp).
struct ExtraWork {
  int runs = 1;     ///< runs timed in a sample
  int counted = 1;  ///< divisor of a sample's time
};

/// Parses "5%" or "5 %": 105 runs that count as 100. Throws ConfigError unless the text is a whole
/// number from 0 to 100 with a percent sign.
ExtraWork parse_extra_work(std::string_view text);

/// The text form, for example "5%".
std::string extra_work_text(const ExtraWork& extra);

/// Criterion for enough samples: the 95 % interval of the median is narrow, or time is up.
struct StoppingCriterion {
  double relative_half_width = 0.02;
  int min_samples = 10;  ///< taken even if time is up; below 6 there is not a 95 % interval
  int max_samples = 1000;
  Seconds max_time{2.0};  ///< wall-clock time for sampling one cell, set-up of samples included
  Seconds min_warmup{0.05};
  int min_warmups = 2;
};

/// One sample in parts. Work local to a rank is separate from synchronisation, so that a failing
/// rank does not block others.
struct SampleParts {
  std::function<void()> set_up;  ///< flushes caches, fills buffers; may be empty
  /// Wait policy of the barrier before `once`; empty: no barrier.
  std::optional<backend::WaitPolicy> barrier;
  std::function<Seconds()> once;  ///< runs the work and returns the time it took
};

/// Takes samples of one cell on all ranks at once. Rank 0 decides for all when to stop.
class Sampler {
 public:
  /// `extra` sets how many runs of `once`, each with its set-up and barrier, make a sample.
  Sampler(backend::Communicator& communicator, const StoppingCriterion& criterion,
          const ExtraWork& extra = {});
  /// Collective. Drops the samples of the warm-up. Returns on every rank a measurement with series
  /// "time" (raw samples of every rank), warnings, and status ok, unstable or interrupted. It is
  /// interrupted after a signal on any rank, and without series if that came during the warm-up.
  ///
  /// An exception of `set_up` or `once` ends the sampling on all ranks. The failed rank does no
  /// more work but joins the barriers until the samples are exchanged, then rethrows; the others
  /// throw an Error with its message. This restricts collective calls in `once`, which every rank
  /// makes equally often until one fails. They are allowed only if nothing in `set_up` and `once`
  /// throws but the communicator, after whose failure no rank can continue.
  [[nodiscard]] Measurement sample(const SampleParts& parts) const;
  /// Samples without set-up and barrier.
  [[nodiscard]] Measurement sample(const std::function<Seconds()>& once) const {
    return sample({.set_up = {}, .barrier = {}, .once = once});
  }
  [[nodiscard]] backend::Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] const StoppingCriterion& criterion() const { return criterion_; }
  [[nodiscard]] const ExtraWork& extra_work() const { return extra_; }

 private:
  backend::Communicator* communicator_;
  StoppingCriterion criterion_;
  ExtraWork extra_;
};

/// A parameter of a benchmark, set on the command line: --name VALUE[,VALUE…].
struct Axis {
  std::string_view name;
  std::string_view doc;
  std::string_view default_value;
  /// Whether it is part of --help, or of --help-all only.
  enum class Help { short_and_full, full } help = Help::short_and_full;
};

/// An axis of which only the full help tells.
constexpr Axis advanced(std::string_view name, std::string_view doc, std::string_view value) {
  return {name, doc, value, Axis::Help::full};
}

/// Input from which a benchmark makes its cells.
struct Context {
  std::map<std::string, std::string> values;  ///< axis name → text, with defaults
  backend::Communicator* communicator = nullptr;
  std::set<std::string> given = {};  ///< axes given on the command line, even with their default
  [[nodiscard]] const std::string& value(std::string_view axis) const;
  /// Parses a whole number ≥ 1; else throws ConfigError.
  [[nodiscard]] int integer(std::string_view axis) const;
  /// Splits a comma-separated list. Throws ConfigError for an empty or repeated item.
  [[nodiscard]] std::vector<std::string> list(std::string_view axis) const;
  [[nodiscard]] std::vector<int> integers(std::string_view axis) const;  ///< each ≥ 1
};

/// One thing to measure. `measure` checks the result first and then samples. It runs on all ranks
/// and makes collective calls, its own and the sampler's. Code between two of them that may throw
/// on one rank belongs in together() (backend/comm/together.hpp), or the others would block in the
/// next call.
struct Cell {
  std::map<std::string, std::string> axes;
  std::function<Measurement(const Sampler&)> measure;
};

/// A benchmark: one file, one entry. It makes its cells in the same order on every rank.
struct Benchmark {
  std::string_view name;  ///< command-line word: dlscale bench <name>
  std::string_view doc;
  std::vector<Axis> axes;
  std::vector<Cell> (*cells)(Context& context);
  /// Sets axes that were not given and follow from others. Null: none.
  void (*settle)(std::map<std::string, std::string>& values,
                 const std::set<std::string>& given) = nullptr;
  /// Source of the number of samples: the stopping criterion or axes of the benchmark. The command
  /// line offers the criterion's options only if it applies.
  enum class Stopping { criterion, axes } stopping = Stopping::criterion;
  /// Order of the cells: shuffled, so that a drift of the machine does not look like an effect of
  /// an axis, or as made, where some cells take a hundred times as long as others.
  enum class Order { shuffled, as_made } order = Order::shuffled;
  /// Whether configs/suites has suites <name>_<suite>.yaml for the option --suite.
  enum class Suites { none, named_after_it } suites = Suites::none;
  /// Kind of rows: times of kernels, which have a share of peak and roofline, or of messages, which
  /// have bandwidths (core/results/bandwidths.hpp).
  enum class Rows { any, kernels, messages } rows = Rows::any;
  /// Whether a sample may consist of many runs (bench/engine/benchmark.hpp), for kernels whose
  /// runs depend only on their operands.
  enum class Extra { refused, offered } extra = Extra::refused;
};

/// The option of an axis: loader_threads is --loader-threads. A few options have a plainer name
/// than their axis, which histories match results by.
std::string option_name(std::string_view axis);

/// The context for `benchmark` from the values given on the command line, with defaults. Throws
/// ConfigError for an unknown axis, listing the known ones.
Context make_context(const Benchmark& benchmark, std::map<std::string, std::string> given,
                     backend::Communicator& communicator);

/// Runs all cells under Google Benchmark, in the benchmark's order, shuffled by `seed` equally on
/// all ranks unless it is as made.
/// `flags` are Google Benchmark's (--benchmark_filter, --benchmark_list_tests, --benchmark_out, …).
/// Passes each measurement to `sink` on rank 0 as soon as it is done. Returns the number measured.
/// Throws Error (nothing_measured) if there are no cells, or none that pass the filter.
struct RunnerOptions {
  std::vector<std::string> flags;
  StoppingCriterion criterion;
  std::uint64_t seed = 1;
  /// Destination of the table, or of the format that --benchmark_format selects. If results go to
  /// standard output, the table must not.
  enum class Display { standard_output, standard_error } display = Display::standard_output;
  /// Called on all ranks once all arguments are valid, before `is_done`, if cells are to be
  /// measured and not only listed. It is the place for side effects that invalid arguments must not
  /// cause. May be empty; collective.
  std::function<void()> begin = {};
  /// Whether a cell already has results and needs no measurement. Called on rank 0, but set on all
  /// ranks or on none. Google Benchmark does not see such cells. May be empty.
  std::function<bool(const Cell&)> is_done = {};
  /// Adds values derived from the times to each measurement before it is reported, on rank 0. May
  /// be empty.
  std::function<void(Measurement&)> complete = {};
  /// Total time to wait for a quiet machine (QuietMachine); cells are measured only while it is
  /// quiet. Empty: no check.
  std::optional<Seconds> wait_quiet = {};
  bool quiet = false;  ///< no progress on standard error
  /// Extra work for studies of noise; cells get an axis that records it.
  std::optional<ExtraWork> extra_work = {};
};
int run_benchmark(const Benchmark& benchmark, Context& context, const RunnerOptions& options,
                  const std::function<void(const Measurement&)>& sink);

/// Most threads per core. At this number the scheduler dominates the time; many more exhaust a
/// threading library or the machine.
inline constexpr int most_threads_of_a_core = 64;

/// Throws ConfigError if `threads`, given by `option`, exceed that limit on the cores that the
/// calling thread may use.
void expect_few_threads(std::string_view option, int threads);

/// Checks all numbers of threads in a benchmark's axes. Throws ConfigError, also for invalid
/// numbers.
void expect_few_threads(const Context& context);

/// A row with the reason why it could not be measured.
Measurement unsupported(const Unsupported& error);

/// The single empty combination of no lists, which ends the recursion.
inline std::vector<std::tuple<>> combinations() {
  return {{}};
}

/// Every combination of one value per list, for cells from axes: ordered by the first list, then
/// the second, and so on. Empty if a list is empty.
template <class Value, class... Others>
std::vector<std::tuple<Value, Others...>> combinations(const std::vector<Value>& values,
                                                       const std::vector<Others>&... others) {
  const auto rest = combinations(others...);
  std::vector<std::tuple<Value, Others...>> all;
  all.reserve(values.size() * rest.size());
  for (const Value& value : values) {
    for (const auto& each : rest) all.push_back(std::tuple_cat(std::make_tuple(value), each));
  }
  return all;
}

/// Collective: the values of every rank, each with equally many.
std::vector<std::vector<double>> gather_on_ranks(backend::Communicator& communicator,
                                                 const std::vector<double>& mine);

/// Collective: the sum over all ranks.
double sum_of_ranks(backend::Communicator& communicator, double mine);

/// Time of one call of body(), on the host's clock.
template <class Body>
Seconds timed(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace dlscale::bench

namespace dlscale {
template <>
Family<bench::Benchmark> family<bench::Benchmark>();
}  // namespace dlscale
