#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "backend/comm/same_settings.hpp"
#include "backend/comm/together.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/engine/speed_samples.hpp"
#include "bench/quiet/quiet_machine.hpp"
#include "bench/runner/runner_flags.hpp"
#include "bench/runner/runner_names.hpp"
#include "bench/runner/runner_report.hpp"
#include "core/base/error.hpp"
#include "core/results/usable_rows.hpp"
#include "core/system/output_file.hpp"
#include "core/text/progress_line.hpp"

namespace dlscale::bench {
namespace {

using Sink = std::function<void(const Measurement&)>;

/// Progress on standard error: the current cell, and the time left by the cells so far.
class Progress {
 public:
  explicit Progress(ProgressLine::Kind kind) : line_(kind) {}
  void expect(std::size_t cells) { expected_ = cells; }
  void next(std::string_view cell) {
    const auto done = static_cast<double>(started_++);
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    const auto rest = static_cast<double>(expected_) - done;
    const std::string left =
        done > 0 ? fmt::format(" (about {} left)", duration_text(elapsed / done * rest)) : "";
    line_.show(fmt::format("[{}/{} cells] {}{}", started_, expected_, cell, left));
  }
  void clear() { line_.clear(); }  ///< frees the terminal line for a row of the table

 private:
  using Clock = std::chrono::steady_clock;
  ProgressLine line_;
  std::size_t expected_ = 0;
  std::size_t started_ = 0;
  Clock::time_point start_ = Clock::now();
};

/// Measures cells one after the other; the first failure or signal ends the rest.
class Runner {
 public:
  Runner(const Benchmark& benchmark, backend::Communicator& communicator,
         const RunnerOptions& options, int repetitions, const Sink& sink)
      : benchmark_(&benchmark),
        sampler_(communicator, options.criterion, options.extra_work.value_or(ExtraWork{})),
        complete_(&options.complete),
        repetitions_(repetitions),
        sink_(&sink) {
    if (options.wait_quiet) {
      quiet_.emplace(communicator, *options.wait_quiet,
                     [witness = ReferenceWork()] { return witness.time(); });
    }
  }

  void run(const Cell& cell, int repetition, benchmark::State& state) {
    if (is_apart_ || ending_.stops()) return leave_out(state);
    Measurement measurement;
    try {
      measurement = measure(cell, repetition);
    } catch (...) {
      failure_ = std::current_exception();
      is_apart_ = is_collective_failure(failure_);
    }
    if (is_apart_) return leave_out(state);
    ending_ = agree(sampler_.communicator(), failure_);
    if (failure_) return leave_out(state);
    fill(state, measurement);
  }

  [[nodiscard]] int measured() const { return measured_; }

  /// Throws if the run was stopped. Collective, unless this rank is apart from the others. A
  /// message that is equal on all ranks is printed by one.
  void throw_if_stopped() const {
    if (is_apart_) std::rethrow_exception(failure_);
    together_on_input(sampler_.communicator(), [this] { throw_if_ended(ending_, failure_); });
  }

 private:
  /// Measures a cell, repeatedly while the machine is not quiet if that was requested.
  Measurement measure_in_quiet(const Cell& cell) {
    if (!quiet_) return cell.measure(sampler_);
    quiet_->wait();
    Measurement measurement = cell.measure(sampler_);
    while (is_timed(measurement) && quiet_->disturbed()) {
      quiet_->wait();
      measurement = cell.measure(sampler_);
    }
    if (is_timed(measurement)) quiet_->tell(measurement);
    return measurement;
  }

  Measurement measure(const Cell& cell, int repetition) {
    Measurement measurement = measure_in_quiet(cell);
    measurement.benchmark = benchmark_->name;
    measurement.axes.insert(cell.axes.begin(), cell.axes.end());
    if (repetitions_ > 1) measurement.axes["repeat"] = std::to_string(repetition);
    if (is_timed(measurement)) ++measured_;
    if (sampler_.communicator().rank() == 0) {
      if (*complete_) (*complete_)(measurement);
      (*sink_)(measurement);
    }
    return measurement;
  }

  const Benchmark* benchmark_;
  Sampler sampler_;
  std::optional<QuietMachine> quiet_;
  const std::function<void(Measurement&)>* complete_;
  int repetitions_;
  const Sink* sink_;
  int measured_ = 0;
  std::exception_ptr failure_;
  bool is_apart_ = false;  ///< after that failure: this rank makes no more collective calls
  backend::Ending ending_;
};

/// Google Benchmark keeps flags and benchmarks in globals. This object owns them during its
/// lifetime and clears them afterwards.
class GoogleBenchmarkRun {
 public:
  ~GoogleBenchmarkRun() { benchmark::ClearRegisteredBenchmarks(); }
  GoogleBenchmarkRun() = default;
  GoogleBenchmarkRun(const GoogleBenchmarkRun&) = delete;
  GoogleBenchmarkRun& operator=(const GoogleBenchmarkRun&) = delete;

  void set(const RunnerFlags& flags) {
    arguments_ = command_line(flags);
    std::vector<char*> pointers;
    for (std::string& argument : arguments_) pointers.push_back(argument.data());
    int count = static_cast<int>(pointers.size());
    benchmark::Initialize(&count, pointers.data());
    EXPECT(count == 1);
  }

 private:
  std::vector<std::string> arguments_;  // Google Benchmark keeps a pointer to the first
};

/// Number of cells that pass the filter. Google Benchmark itself matches, by listing into a string.
std::size_t count_matches(GoogleBenchmarkRun& library, RunnerFlags flags) {
  flags.list_tests = "true";
  flags.out.clear();
  library.set(flags);
  std::ostringstream said;
  const auto reporter = make_silent_reporter();
  reporter->SetErrorStream(&said);
  const std::size_t matches = benchmark::RunSpecifiedBenchmarks(reporter.get());
  // Google Benchmark's own message names other mistakes.
  if (matches == 0 && said.str().starts_with("Could not compile")) {
    throw ConfigError(
        fmt::format("{}={} is not a regular expression, so that no cell can be "
                    "chosen by it. Write a backslash before each of ( ) [ ] {{ }} * + ? | ^ $ . "
                    "that stands for itself, and \".*\" for anything.",
                    google_flag("filter"), flags.filter));
  }
  return matches;
}

/// Throws if there are no cells, or if none passes the filter, including cells measured earlier.
void expect_matches(std::string_view benchmark, std::span<const NamedCell> cells,
                    const RunnerFlags& flags) {
  if (cells.empty()) {
    throw Error(ExitCode::nothing_measured,
                fmt::format("bench {} has no cell for these axes. Allow more values.", benchmark));
  }
  GoogleBenchmarkRun library;
  for (const NamedCell& cell : cells) {
    benchmark::RegisterBenchmark(cell.name.c_str(), [](benchmark::State&) {})
        ->UseManualTime()  // added to the name, with "iterations:1"
        ->Iterations(1);
  }
  if (count_matches(library, flags) > 0) return;
  throw Error(ExitCode::nothing_measured,
              fmt::format("{}={} leaves none of the cells of bench {} ({} without it). {} prints "
                          "their names.",
                          google_flag("filter"), flags.filter, benchmark, cells.size(),
                          google_flag("list_tests")));
}

/// Whether a file is an earlier --benchmark_out. JSON begins with its context, CSV with the date
/// and the program, the table with its column names.
bool is_benchmark_out(std::istream& content) {
  std::string line;
  std::string next;
  std::getline(content >> std::ws, line);
  std::getline(content >> std::ws, next);
  return (line == "{" && next.starts_with("\"context\":")) || next.starts_with("Running ") ||
         (line.starts_with("cell ") && line.ends_with(" implementation"));
}

/// Checks the file first, as Google Benchmark exits the process if it cannot open it.
void check_writable(const std::string& out) {
  if (out.empty()) return;
  refuse_shared_output(out, fmt::format("{}={}", google_flag("out"), out));
  refuse_foreign_file(out, "a file of " + google_flag("out"), is_benchmark_out);
  if (!std::ofstream(out, std::ios::app)) {
    throw ConfigError(
        fmt::format("{}={} cannot be written. Name a file in a folder that exists and is yours.",
                    google_flag("out"), out));
  }
}

void check_criterion(const StoppingCriterion& criterion) {
  if (criterion.min_samples < 1 || criterion.max_samples < criterion.min_samples) {
    throw ConfigError(
        fmt::format("between {} and {} samples were asked for. The least number must "
                    "be 1 or more and not above the largest.",
                    criterion.min_samples, criterion.max_samples));
  }
  if (!(criterion.relative_half_width > 0) || criterion.max_time < Seconds(0) ||
      criterion.min_warmup < Seconds(0) || criterion.min_warmups < 0) {
    throw ConfigError(
        "the stopping criterion has a negative time, a negative number of warm-ups, "
        "or an interval that is not wider than 0. Write positive values.");
  }
}

/// Shuffles identically on every rank and with every standard library, unlike std::shuffle.
template <class T>
void shuffle(std::vector<T>& items, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random() % i]);
}

/// Removes, on all ranks, the cells that rank 0 reports as done.
void leave_out_done(std::vector<NamedCell>& cells, const std::function<bool(const Cell&)>& is_done,
                    backend::Communicator& communicator) {
  if (!is_done) return;
  std::vector<char> done(cells.size());
  together(communicator, [&] {
    if (communicator.rank() != 0) return;
    std::ranges::transform(cells, done.begin(), [&](const NamedCell& cell) -> char {
      return is_done(cell.cell) ? 1 : 0;
    });
  });
  communicator.broadcast(std::as_writable_bytes(std::span(done)), 0);
  std::vector<NamedCell> left;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (done[i] == 0) left.push_back(std::move(cells[i]));
  }
  cells = std::move(left);
}

/// Adds the extra work to the axes, so that such rows cannot be mistaken for others.
void mark_extra_work(const ExtraWork& extra, std::vector<Cell>& cells) {
  for (Cell& cell : cells) cell.axes[std::string(extra_work_axis)] = extra_work_text(extra);
}

/// Whether --benchmark_out was written completely, if requested.
enum class Written { whole, in_part };

Written run_reporting(const RunnerFlags& flags, Rank rank, RunnerOptions::Display where,
                      const std::string& common, Benchmark::Rows rows) {
  const auto display =
      rank == 0 ? make_reporter(flags.format, common, rows) : make_silent_reporter();
  if (rank == 0 && where == RunnerOptions::Display::standard_error) {
    display->SetOutputStream(&std::cerr);
  }
  bool lost = false;
  const auto file = flags.out.empty() ? nullptr : make_file_reporter(flags.out_format, rows, lost);
  benchmark::RunSpecifiedBenchmarks(display.get(), file.get());
  return lost ? Written::in_part : Written::whole;
}

/// Throws on all ranks if rank 0, which writes the file, could not write all of it.
void expect_written(const std::string& out, Written written, backend::Communicator& communicator) {
  together(communicator, [&] {
    if (written == Written::whole) return;
    throw ConfigError(
        fmt::format("{}={} cannot be written to its end, so it does not hold all that "
                    "was measured (is the disk full?). Free space, or name another file; "
                    "measurements of -o are kept.",
                    google_flag("out"), out));
  });
}

}  // namespace

int run_benchmark(const Benchmark& benchmark, Context& context, const RunnerOptions& options,
                  const std::function<void(const Measurement&)>& sink) {
  const Rank rank = context.communicator->rank();
  RunnerFlags flags;
  std::vector<NamedCell> cells;
  std::string common;
  together_on_input(*context.communicator, [&] {
    flags = parse_runner_flags(options.flags);
    check_criterion(options.criterion);
    expect_few_threads(context);
    std::vector<Cell> made = benchmark.cells(context);
    if (options.extra_work) mark_extra_work(*options.extra_work, made);
    common = same_in_all(made);
    cells = name_cells(benchmark.name, std::move(made));
    expect_matches(benchmark.name, cells, flags);
  });
  backend::expect_same_settings(*context.communicator,
                                {{"the number of cells", std::to_string(cells.size())}});
  if (rank != 0) flags.out.clear();
  if (!flags.listing()) {
    on_first_rank(*context.communicator, [&] { check_writable(flags.out); });
    if (options.begin) options.begin();
  }
  leave_out_done(cells, options.is_done, *context.communicator);
  if (cells.empty()) return 0;
  const bool shuffles = benchmark.order == Benchmark::Order::shuffled;
  if (shuffles && !flags.listing()) shuffle(cells, options.seed);
  GoogleBenchmarkRun library;
  Progress progress(ProgressLine::kind_for(rank != 0 || options.quiet));
  Runner runner(benchmark, *context.communicator, options, flags.repetitions, sink);
  for (NamedCell& cell : cells) {
    benchmark::RegisterBenchmark(cell.name.c_str(),
                                 [&, repetition = 0](benchmark::State& state) mutable {
                                   progress.next(cell.name);
                                   runner.run(cell.cell, repetition++, state);
                                   progress.clear();
                                   // Frees prepared state, which is too large to keep for sweeps of
                                   // thousands of cells.
                                   if (repetition == flags.repetitions) cell.cell.measure = nullptr;
                                 })
        ->UseManualTime()
        ->Iterations(1);
  }
  const std::size_t matches = count_matches(library, flags);
  if (matches == 0) return 0;  // matching cells were measured before
  progress.expect(matches * static_cast<std::size_t>(flags.repetitions));
  library.set(flags);
  const Written written = run_reporting(flags, rank, options.display, common, benchmark.rows);
  runner.throw_if_stopped();
  expect_written(flags.out, written, *context.communicator);
  return runner.measured();
}

}  // namespace dlscale::bench
