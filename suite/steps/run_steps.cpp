#include "suite/steps/run_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/interrupt.hpp"
#include "core/system/process.hpp"
#include "core/system/this_command_line.hpp"
#include "core/text/numbers.hpp"
#include "core/text/progress_line.hpp"
#include "suite/job/job.hpp"
#include "suite/launch/launch_command.hpp"
#include "suite/steps/suite_outputs.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Whether the step was begun before; a new step has no state to resume.
enum class Begun { no, yes };

/// The launcher of this build's MPI; on another machine the one on the PATH.
std::string mpi_launcher(const SuiteStep& step) {
  const fs::path launcher = DLSCALE_MPIEXEC;
  if (launcher.empty()) {
    throw Unsupported(
        fmt::format("Step \"{}\" needs {} ranks, and this build has no MPI. Install "
                    "libopenmpi-dev and openmpi-bin and build again.",
                    step.name, step.ranks));
  }
  std::error_code absent;
  return fs::exists(launcher, absent) ? launcher.string() : launcher.filename().string();
}

std::vector<std::string> command_line(const SuiteStep& step, Begun begun) {
  std::vector<std::string> command;
  if (step.ranks > 1) {
    command = {mpi_launcher(step), DLSCALE_MPIEXEC_RANKS, std::to_string(step.ranks)};
  }
  if (!step.is_program) command.push_back(this_program().string());
  std::ranges::copy_if(step.words, std::back_inserter(command), [&](const std::string& word) {
    return begun == Begun::yes || word != "--resume";
  });
  return command;
}

/// Sentences on how a step failed; `log` is empty if its output was shown.
std::string failure_text(const SuiteStep& step, const ChildExit& exit, const fs::path& log) {
  const std::string how = exit.timed_out
                              ? fmt::format("took longer than its timeout ({}) and was ended",
                                            duration_text(step.timeout_s.value_or(0)))
                              : describe(exit);
  return fmt::format("step \"{}\" {}. Its command was: {}.{}", step.name, how, command_text(step),
                     log.empty() ? "" : fmt::format(" Its output is in {}.", log.string()));
}

/// Bytes of a file; 0 if there is none.
std::uintmax_t size_of(const fs::path& path) {
  std::error_code absent;
  const std::uintmax_t bytes = fs::file_size(path, absent);
  return absent ? 0 : bytes;
}

/// Shows the last lines that a step wrote to its log, from byte `begin` of the log on.
void show_last_lines(const fs::path& log, std::uintmax_t begin) {
  constexpr int most_lines = 10;
  constexpr std::uintmax_t most_bytes = 8192;
  const std::uintmax_t end = size_of(log);
  if (begin > end) begin = 0;  // it was cut
  const std::uintmax_t first = std::max(begin, end - std::min(end, most_bytes));
  if (first >= end) return;
  std::ifstream file(log, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(first));
  std::string text(end - first, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  std::size_t from = text.size();
  for (int line = text.ends_with('\n') ? 0 : 1;
       line <= most_lines && from != 0 && from != std::string::npos; ++line) {
    from = text.rfind('\n', from - 1);
  }
  fmt::print(stderr, "{}{}", text.substr(from == std::string::npos ? 0 : from + 1),
             text.ends_with('\n') ? "" : "\n");
}

/// Whether all earlier steps have run.
enum class Before { whole, in_part };

/// Returns a failure that does not affect other steps: the step crashed or hung, derives results
/// from missing measurements, or belongs to a suite that keeps going. Returns nothing for other
/// failures, such as bad input, which end the suite. A failed validation may be a finding, and so
/// are faulty rows of results, since other measurements stay useful.
std::optional<StepEnd> end_of(const SuiteStep& step, const ChildExit& exit, Before before) {
  if (exit.timed_out) return StepEnd::failed;
  const ExitCode code = exit_code_of(exit);
  const bool judged = code == ExitCode::regression || code == ExitCode::inconclusive;
  const bool finding = judged && step.accept_failed_validation;
  if (code == ExitCode::ok || finding) return StepEnd::done;
  if (code == ExitCode::interrupted || code == ExitCode::terminated) {
    throw Interrupted(exit.code - 128);
  }
  if (told_by_rows(step, code)) return StepEnd::done;
  if (step.keep_going && code == ExitCode::not_built) return StepEnd::lacking;
  if (step.keep_going || code == ExitCode::wrong_result) return StepEnd::failed;
  if (step.always && before == Before::in_part) return StepEnd::failed;
  return std::nullopt;
}

/// A line on standard error that begins when a step does and ends with its time, or before other
/// output.
class StepLine {
 public:
  StepLine() = default;
  ~StepLine() { end(); }
  StepLine(const StepLine&) = delete;
  StepLine& operator=(const StepLine&) = delete;
  void begin(const std::string& text) {
    fmt::print(stderr, "{}", text);
    std::fflush(stderr);
    is_open_ = true;
  }
  void end(const std::string& text = "") {
    if (is_open_) fmt::print(stderr, "{}\n", text);
    is_open_ = false;
  }

 private:
  bool is_open_ = false;
};

/// The conditions of one run of a step.
struct StepCall {
  StepLine* line = nullptr;  ///< ended before messages
  std::string place;         ///< mark by which its processes are found
  fs::path out;              ///< folder of the suite's results
  fs::path log = {};         ///< file for its output; empty: the streams of this process
  Job::Leftovers leftovers = Job::Leftovers::stay;
  Begun begun = Begun::no;
  Before before = Before::whole;
  double most_s = unlimited;  ///< remaining time budget for it
  /// Whether the budget ends the step before its own timeout does.
  [[nodiscard]] bool cuts(const SuiteStep& step) const {
    return most_s < step.timeout_s.value_or(unlimited);
  }
};

/// Runs the step in its own process. Returns nothing, after a message, if it cannot be started in a
/// suite that keeps going.
std::optional<JobEnd> run_step(const SuiteStep& step, const StepCall& call) {
  try {
    return run_job({.command = command_line(step, call.begun),
                    .place = call.place,
                    .defaults = launcher_settings(),
                    .log = call.log,
                    .timeout_s = call.cuts(step) ? call.most_s : step.timeout_s,
                    .leftovers = call.leftovers});
  } catch (const Error& error) {
    const bool is_absent =
        error.code() == ExitCode::bad_input || error.code() == ExitCode::not_built;
    if (!step.keep_going || !is_absent) throw;
    call.line->end();
    fmt::print(stderr, "dlscale: step \"{}\" is left out: {}\n", step.name, error.what());
    return std::nullopt;
  }
}

/// Runs the step and reports a failure. Throws Error for one that ends the suite.
StepEnd carry_out(const SuiteStep& step, const StepCall& call) {
  const std::uintmax_t logged = size_of(call.log);
  std::optional<JobEnd> job;
  CellResults(call.out).guard(step, [&] { job = run_step(step, call); });
  if (!job) return StepEnd::lacking;
  const std::optional<StepEnd> end = end_of(step, job->exit, call.before);
  if (end != StepEnd::done) call.line->end();
  if (job->exit.timed_out && call.cuts(step)) {
    fmt::print(stderr, "dlscale: step \"{}\" was ended, since the time budget is spent\n",
               step.name);
    return StepEnd::out_of_time;
  }
  if (end != StepEnd::done) show_last_lines(call.log, logged);
  const std::string failure = failure_text(step, job->exit, call.log);
  if (!end) {
    throw Error(exit_code_of(job->exit),
                failure + " Correct it and run the suite again: it goes on with this step.");
  }
  if (end == StepEnd::failed) {
    fmt::print(stderr, "dlscale: {} Steps that do not build upon it follow.\n", failure);
  }
  if (end == StepEnd::lacking) {
    fmt::print(stderr,
               "dlscale: step \"{}\" is left out: this machine or build lacks what it needs\n",
               step.name);
  }
  return *end;
}

std::string names_of(const std::vector<const SuiteStep*>& steps) {
  std::string names;
  for (const SuiteStep* step : steps) names += (names.empty() ? "" : ", ") + step->name;
  return names;
}

}  // namespace

Steps::Steps(const Suite& suite, SuiteProgress& progress, const TimeBudget& budget, bool quiet)
    : suite_(suite),
      steps_(suite.steps),
      progress_(progress),
      budget_(budget),
      left_(steps_, progress),
      time_left_(TimeLeft::of(steps_)),
      quiet_(quiet),
      kept_(seconds_to_keep(steps_)),
      turns_(steps_.size(), Turn::first) {
  if (suite.keep_going) set_turns();
}

/// Moves steps that failed before to the end, with those that build upon them: they may fail again.
void Steps::set_turns() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].always && progress_.begun_alone(steps_[i])) turns_[i] = Turn::last;
    for (std::size_t earlier = 0; earlier < i && !steps_[i].always; ++earlier) {
      const bool waits = turns_[earlier] == Turn::last && builds_upon(steps_[i], steps_[earlier]);
      if (waits) turns_[i] = Turn::last;
    }
  }
}

void Steps::carry_out_measuring() {
  const auto last = std::ranges::find(steps_.rbegin(), steps_.rend(), false, &SuiteStep::always);
  carry_out_until(static_cast<std::size_t>(steps_.rend() - last));
}

void Steps::carry_out_rest() {
  const bool derives_from_nothing = suite_.keep_going && measured_ == 0 && suite_.cells.empty();
  if (!derives_from_nothing) carry_out_until(steps_.size());
}

void Steps::carry_out_until(std::size_t end) {
  for (const Turn turn : {Turn::first, Turn::last}) {
    for (std::size_t i = next_; i < end; ++i) {
      if (turns_[i] == turn) carry_out(i);
    }
  }
  next_ = end;
}

void Steps::carry_out(std::size_t index) {
  const SuiteStep& step = steps_[index];
  if (step.always) kept_ -= step.seconds;
  if (const Missing* cause = what_it_lacks(step)) {
    if (cause->why != StepEnd::out_of_time) {
      fmt::print(stderr, "dlscale: step \"{}\" is left out: it builds upon \"{}\"\n", step.name,
                 cause->step->name);
    }
    return leave_out(step, cause->why);
  }
  StepEnd end = StepEnd::done;
  if (!progress_.done(step)) {
    const double most_s = step.always || !suite_.keep_going ? unlimited : room();
    end = step.seconds > most_s ? StepEnd::out_of_time : carry_out_next(index, most_s);
  }
  if (end == StepEnd::failed) {
    if (!step.always) progress_.mark_begun_alone(step);
    failed_.push_back(step.name);
  }
  if (end != StepEnd::done) return leave_out(step, end);
  measured_ += step.always ? 0 : 1;
  ++settled_;
  time_left_.finished(step.seconds, progress_.seconds(step));
}

void Steps::leave_out(const SuiteStep& step, StepEnd why) {
  missing_.push_back({&step, why});
  ++settled_;
  time_left_.left_out(step.seconds);
}

const Steps::Missing* Steps::what_it_lacks(const SuiteStep& step) const {
  const auto found = std::ranges::find_if(
      missing_, [&step](const Missing& missing) { return builds_upon(step, *missing.step); });
  return found == missing_.end() ? nullptr : &*found;
}

StepEnd Steps::carry_out_next(std::size_t index, double room) {
  const SuiteStep& step = steps_[index];
  StepLine line;
  StepCall call{.line = &line,
                .place = progress_.place(step),
                .out = progress_.out(),
                .begun = progress_.begun(step) ? Begun::yes : Begun::no,
                .before = missing_.empty() ? Before::whole : Before::in_part,
                .most_s = room};
  if (!step.always) forget_what_follows(index);
  if (call.begun == Begun::no) empty_outputs(step);
  if (left_.alone(index) && !step.keep_going) {
    progress_.mark_begun_alone(step);
  } else {
    progress_.mark_begun(step);
  }
  progress_.lock();  // before the first step's mark there was nothing to take
  if (progress_.is_locked()) call.leftovers = Job::Leftovers::are_ended;
  if (!step.always) call.log = progress_.log(step);
  std::error_code absent;
  if (call.begun == Begun::no) fs::remove(call.log, absent);
  if (!quiet_) {
    line.begin(fmt::format("[{:>3}/{}] {}: {} (about {} left)", settled_ + 1, steps_.size(),
                           step.name, step.doc, duration_text(time_left_.seconds())));
    if (step.always) line.end();  // its output is shown
  }
  const auto start = Clock::now();
  const StepEnd end = suite::carry_out(step, call);
  if (end == StepEnd::done) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    progress_.mark(step, seconds);
    line.end(" ... " + duration_text(seconds));
  }
  return end;
}

void Steps::forget_what_follows(std::size_t index) const {
  std::vector<SuiteStep> kept(steps_.begin(), steps_.begin() + static_cast<long>(index));
  if (left_.alone(index)) {
    const std::vector<bool> taken_along = with_builders(steps_, index);
    for (std::size_t i = index; i < steps_.size(); ++i) {
      if (!taken_along[i]) kept.push_back(steps_[i]);
    }
  }
  progress_.keep_only(kept);
}

std::vector<const SuiteStep*> Steps::missing_since(StepEnd why) const {
  std::vector<const SuiteStep*> steps;
  for (const Missing& missing : missing_) {
    if (missing.why == why) steps.push_back(missing.step);
  }
  return steps;
}

ExitCode Steps::conclude() const {
  const std::vector<const SuiteStep*> waiting = missing_since(StepEnd::out_of_time);
  if (!waiting.empty()) {
    double seconds = 0;
    for (const SuiteStep* step : waiting) seconds += step->seconds;
    fmt::print(stderr,
               "dlscale: the time budget has no room for {} of this suite, about {}: {}. The same "
               "command goes on with {}.\n",
               counted(static_cast<long long>(waiting.size()), "step"), duration_text(seconds),
               names_of(waiting), waiting.size() == 1 ? "it" : "them");
  }
  if (!failed_.empty()) {
    const std::size_t others = missing_since(StepEnd::failed).size() - failed_.size();
    const std::string left_out =
        others == 0 ? ""
                    : fmt::format("; {} {} left out, which build{} upon what failed",
                                  counted(static_cast<long long>(others), "step"),
                                  others == 1 ? "was" : "were", others == 1 ? "s" : "");
    fmt::print(stderr, "dlscale: {} of this suite failed: {}{}. The same command goes on there.\n",
               counted(static_cast<long long>(failed_.size()), "step"), fmt::join(failed_, ", "),
               left_out);
    return ExitCode::wrong_result;
  }
  if (!waiting.empty()) return ExitCode::inconclusive;
  const bool nothing_here = suite_.keep_going && measured_ == 0 && !missing_.empty();
  return nothing_here ? ExitCode::not_built : ExitCode::ok;
}

}  // namespace dlscale::suite
