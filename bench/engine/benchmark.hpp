#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/engine/extra_work.hpp"
#include "core/base/family.hpp"
#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// When enough samples are enough: the 95 % interval of the median is narrow, or time is up.
struct StoppingCriterion {
  double relative_half_width = 0.02;
  int min_samples = 10;  ///< taken even if time is up; below 6 there is no 95 % interval
  int max_samples = 1000;
  Seconds max_time{2.0};  ///< of sampling one cell on the wall clock, set-up of samples included
  Seconds min_warmup{0.05};
  int min_warmups = 2;
};

/// One sample, in parts: what is local to a rank apart from where ranks wait for each other, so
/// that a rank that fails keeps no other waiting.
struct SampleParts {
  std::function<void()> set_up;             ///< flushes caches, fills buffers; may be empty
  std::optional<backend::Waiting> meeting;  ///< how ranks meet before `once`; empty: they do not
  std::function<Seconds()> once;            ///< runs the work and returns the time it took
};

/// Takes samples of one cell on all ranks at once. Rank 0 decides when to stop, for all.
class Sampler {
 public:
  /// `extra`: how many runs of `once`, each with what goes before it, make a sample.
  Sampler(backend::Communicator& communicator, const StoppingCriterion& criterion,
          const ExtraWork& extra = {});
  /// Collective. Samples of the warm-up are not kept. Returns, on every rank, a measurement with
  /// series "time" (raw samples of every rank), status ok, unstable or interrupted (a signal on any
  /// rank; without series if it came during the warm-up), and warnings.
  ///
  /// An exception of `set_up` or `once` ends the sampling on all ranks: one that failed does no
  /// more work but goes on meeting the others until the samples are exchanged, then throws what it
  /// caught, and the others an Error with its message. Hence the rule for collective calls in
  /// `once` (every rank calls it equally often until one fails): they are allowed only if nothing
  /// in `set_up` and `once` throws but the communicator, after whose failure no rank can go on
  /// anyway.
  [[nodiscard]] Measurement sample(const SampleParts& parts) const;
  /// Without set-up and meeting.
  [[nodiscard]] Measurement sample(const std::function<Seconds()>& once) const {
    return sample({.set_up = {}, .meeting = {}, .once = once});
  }
  [[nodiscard]] backend::Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] const StoppingCriterion& criterion() const { return criterion_; }
  [[nodiscard]] const ExtraWork& extra_work() const { return extra_; }

 private:
  backend::Communicator* communicator_;
  StoppingCriterion criterion_;
  ExtraWork extra_;
};

/// A parameter of a benchmark that the command line sets: --name VALUE[,VALUE…].
struct Axis {
  std::string_view name;
  std::string_view doc;
  std::string_view default_value;
};

/// What a benchmark is given to make its cells.
struct Context {
  std::map<std::string, std::string> values;  ///< axis name → text, defaults filled in
  backend::Communicator* communicator = nullptr;
  std::set<std::string> given = {};  ///< the axes that were named, even with their default
  [[nodiscard]] const std::string& value(std::string_view axis) const;
  /// A whole number ≥ 1; else throws ConfigError.
  [[nodiscard]] int integer(std::string_view axis) const;
  /// The items between commas. Throws ConfigError for an empty item or one that stands twice.
  [[nodiscard]] std::vector<std::string> list(std::string_view axis) const;
  [[nodiscard]] std::vector<int> integers(std::string_view axis) const;  ///< each ≥ 1
};

/// One thing to measure. `measure` checks the answer first and then samples. It is called on all
/// ranks and holds collective calls (the sampler's, and its own); what may throw on one rank
/// between two of them stands in together() (backend/comm/together.hpp), or that rank would leave
/// the others waiting in the next.
struct Cell {
  std::map<std::string, std::string> axes;
  std::function<Measurement(const Sampler&)> measure;
};

/// A benchmark: one file, one entry. Cells are made in the same order on every rank.
struct Benchmark {
  std::string_view name;  ///< word on the command line: dlscale bench <name>
  std::string_view doc;
  std::vector<Axis> axes;
  std::vector<Cell> (*cells)(Context& context);
  /// Sets axes that were not named and that follow from others, where there are such. Null: none.
  void (*settle)(std::map<std::string, std::string>& values,
                 const std::set<std::string>& given) = nullptr;
  /// What says when a cell has enough samples: the stopping criterion, or axes of the benchmark.
  /// The command line offers the criterion's options only where they have an effect.
  enum class Stopping { criterion, axes } stopping = Stopping::criterion;
  /// Whether configs/suites holds suites <name>_<suite>.yaml for the option --suite.
  enum class Suites { none, named_after_it } suites = Suites::none;
  /// Whether its rows are times of kernels, which have a share of peak and roofline, or of
  /// messages, which have bandwidths (core/results/bandwidths.hpp).
  enum class Rows { any, kernels, messages } rows = Rows::any;
  /// Whether a sample may be of many runs (bench/engine/extra_work.hpp): of kernels, whose runs depend on
  /// nothing but their operands.
  enum class Extra { refused, offered } extra = Extra::refused;
};

/// An axis as the command line spells it: loader_threads is --loader-threads.
std::string option_name(std::string_view axis);

/// The context for `benchmark` from the values given on the command line; fills in the defaults.
/// Throws ConfigError for an axis that the benchmark does not have, naming those it has.
Context make_context(const Benchmark& benchmark, std::map<std::string, std::string> given,
                     backend::Communicator& communicator);

/// Runs all cells (in an order shuffled by `seed`, equal on all ranks) under Google Benchmark,
/// whose flags (--benchmark_filter, --benchmark_list_tests, --benchmark_out, …) come in `flags`,
/// and hands each measurement to `sink` on rank 0 as soon as it is done. Returns the number
/// measured. Throws Error (nothing_measured) if there is no cell, or none that the filter leaves.
struct RunnerOptions {
  std::vector<std::string> flags;
  StoppingCriterion criterion;
  std::uint64_t seed = 1;
  /// The table (or what --benchmark_format asks for); where results go to standard output, the
  /// table must not.
  enum class Display { standard_output, standard_error } display = Display::standard_output;
  /// Called on all ranks when all that was asked for is known to be right, and before `is_done`, if
  /// cells are to be measured and not only listed: for what should not happen for a slip of the
  /// pen. May be empty; collective.
  std::function<void()> begin = {};
  /// Cells that need no measuring, since their results are there already: asked on rank 0, but set
  /// on all ranks or on none. May be empty. Google Benchmark does not see such cells.
  std::function<bool(const Cell&)> is_done = {};
  /// Adds to each measurement what follows from its times, before it is reported: on rank 0. May be
  /// empty.
  std::function<void(Measurement&)> complete = {};
  /// Cells are measured only while the machine is quiet (QuietMachine), which is waited for so long
  /// in all. Absent: it is not looked at.
  std::optional<Seconds> wait_quiet = {};
  /// For studies of noise; the cells get an axis that says so.
  std::optional<ExtraWork> extra_work = {};
};
int run_benchmark(const Benchmark& benchmark, Context& context, const RunnerOptions& options,
                  const std::function<void(const Measurement&)>& sink);

}  // namespace dlscale::bench

namespace dlscale {
template <>
Family<bench::Benchmark> family<bench::Benchmark>();
}  // namespace dlscale
