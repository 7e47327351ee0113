// dlscale run: carries out a suite, one child process a step, and goes on where it stopped.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>

#include "app/cells/orphans.hpp"
#include "app/child_process.hpp"
#include "app/launcher_settings.hpp"
#include "app/positive.hpp"
#include "app/progress_line.hpp"
#include "app/run_suite.hpp"
#include "app/steps_left.hpp"
#include "app/suite.hpp"
#include "app/suite_findings.hpp"
#include "app/suite_list.hpp"
#include "app/suite_outputs.hpp"
#include "app/suite_progress.hpp"
#include "app/verb.hpp"
#include "backend/comm/launch.hpp"
#include "backend/host/host.hpp"
#include "core/build_id.hpp"
#include "core/build_info.hpp"
#include "core/interrupt.hpp"
#include "core/own_command.hpp"
#include "core/shell_words.hpp"
#include "report/numbers.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using report::counted;
using Clock = std::chrono::steady_clock;

/// As a shell reads it.
std::string command_text(const SuiteStep& step) {
  std::vector<std::string> words{"dlscale"};
  words.insert(words.end(), step.words.begin(), step.words.end());
  return shell_line(words);
}

/// Those of a worker, which is an even share of this machine.
int cores_of(const SuiteRun& options) {
  const int usable = static_cast<int>(backend::usable_cores().size());
  return options.cores > 0 ? options.cores : usable / options.workers;
}

/// One core of a worker is left to the loader and communication threads if it has more than one.
std::map<std::string, std::string> placeholders(const SuiteRun& options) {
  const int cores = std::max(1, cores_of(options));
  return {{"out", options.out},
          {"data", options.data.empty() ? options.out + "/data" : options.data},
          {"workers", std::to_string(options.workers)},
          {"cores", std::to_string(cores)},
          {"threads", std::to_string(std::max(1, cores - 1))}};
}

/// Steps run on this machine; cells say themselves on what.
void check_workers(const SuiteRun& options) {
  const int usable = static_cast<int>(backend::usable_cores().size());
  const int cores = cores_of(options);
  if (cores >= 1 && cores <= usable / options.workers) return;
  throw ConfigError(
      fmt::format("{} of {} would need more than the {} that this process may use. Lower "
                  "--workers or --cores.",
                  counted(options.workers, "worker"), counted(std::max(cores, 1), "core"),
                  counted(usable, "core")));
}

/// A step that was not begun before has nothing to go on with.
enum class Begun { no, yes };

std::vector<std::string> command_line(const SuiteStep& step, Begun begun) {
  std::vector<std::string> command;
  if (step.ranks > 1) {
    const std::string launcher = DLSCALE_MPIEXEC;
    if (launcher.empty()) {
      throw Unsupported(
          fmt::format("Step \"{}\" needs {} ranks, and this build has no MPI. Install "
                      "libopenmpi-dev and openmpi-bin and build again.",
                      step.name, step.ranks));
    }
    command = {launcher, DLSCALE_MPIEXEC_RANKS, std::to_string(step.ranks)};
  }
  command.push_back(own_program().string());
  std::ranges::copy_if(step.words, std::back_inserter(command), [&](const std::string& word) {
    return begun == Begun::yes || word != "--resume";
  });
  return command;
}

/// Says what comes next and how long the rest will take.
class StepLines {
 public:
  StepLines(const std::vector<SuiteStep>& steps, bool quiet)
      : count_(steps.size()), left_(steps), quiet_(quiet) {}
  void announce(const SuiteStep& step) const {
    if (quiet_) return;
    fmt::print(stderr, "[{:>3}/{}] {}: {} (about {} left)\n", number_ + 1, count_, step.name,
               step.doc, duration_text(left_.seconds()));
  }
  /// Just now, or in an earlier call.
  void finished(const SuiteStep& step, double seconds) {
    ++number_;
    left_.finished(step, seconds);
  }
  void left_out(const SuiteStep& step) {
    ++number_;
    left_.left_out(step);
  }

 private:
  std::size_t count_;
  std::size_t number_ = 0;
  TimeLeft left_;
  bool quiet_;
};

/// What became of a step, for a sentence that begins with it.
std::string failure_text(const SuiteStep& step, const ChildExit& exit) {
  const std::string how = exit.timed_out
                              ? fmt::format("took longer than its timeout ({}) and was ended",
                                            duration_text(*step.timeout_s))
                              : describe(exit);
  return fmt::format("step \"{}\" {}. Its command was: {}.", step.name, how, command_text(step));
}

/// Whether all that comes before a step was carried out.
enum class Before { whole, in_part };

/// Whether the step did what it was to do, or failed in a way that says nothing about others: it
/// crashed or hung, or it derives from what was to be measured before. Ends the suite where it
/// failed in another way, such as for bad input; a failed validation may be a finding, and so is
/// what stands in rows of results: what else there is to measure is worth no less.
bool succeeded(const SuiteStep& step, const ChildExit& exit, Before before) {
  if (const int signal = pending_signal(); signal != 0) throw Interrupted(signal);
  if (exit.timed_out) return false;
  const ExitCode code = exit_code_of(exit);
  const bool judged = code == ExitCode::regression || code == ExitCode::inconclusive;
  const bool finding = judged && step.accept_failed_validation;
  if (code == ExitCode::ok || finding) return true;
  if (code == ExitCode::interrupted || code == ExitCode::terminated) {
    throw Interrupted(exit.code - 128);
  }
  if (told_by_rows(step, code)) return true;
  if (code == ExitCode::wrong_result) return false;
  if (step.always && before == Before::in_part) return false;
  throw Error(code, failure_text(step, exit) +
                        " Mend it and run the suite again: it goes on with this step.");
}

/// The program that measures, as the marks of steps that are done name it.
std::string build_text() {
  const BuildInfo build = build_info();
  return fmt::format("dlscale {}, commit {}{}, build {}, {} {}", build.version, build.commit,
                     build.dirty ? " with local changes" : "", build_id(), build.compiler,
                     build.flags);
}

/// The folder of the marks of steps (SuiteProgress) as what their processes are known by.
class StepsPlace {
 public:
  explicit StepsPlace(const fs::path& out) : folder_(out / ".done") {}
  ~StepsPlace() {
    if (lock_ >= 0) ::close(lock_);
  }
  StepsPlace(const StepsPlace&) = delete;
  StepsPlace& operator=(const StepsPlace&) = delete;
  [[nodiscard]] std::string of(const SuiteStep& step) const {
    std::string name = step.name;
    std::ranges::replace(name, '/', '-');
    return place_of(folder_, name);
  }
  /// Takes the place for this process, and ends the step of an earlier one that was killed. Where
  /// another dlscale has it, or a file system no locks, it ends nothing: what steps write is locked
  /// file by file. Without a mark no step was begun, and there is nothing to take.
  void take() {
    std::error_code absent;
    if (lock_ >= 0 || !fs::is_directory(folder_, absent)) return;
    lock_ = ::open((folder_ / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) return;
    if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) return end_orphans(place_of(folder_, ""), "a step");
    ::close(lock_);
    lock_ = -1;
  }

 private:
  fs::path folder_;
  int lock_ = -1;
};

/// Runs the step in a process of its own, which is known by its place. Returns the seconds it took;
/// nothing if it failed and others go on, which is told.
std::optional<double> carry_out(const SuiteStep& step, const std::string& place, Begun begun,
                                Before before) {
  const auto start = Clock::now();
  ChildOptions options;
  options.variables = {{cell_variable, place}};
  options.timeout_s = step.timeout_s;
  const ChildExit exit = run_child(command_line(step, begun), launcher_settings(), options);
  if (succeeded(step, exit, before)) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  fmt::print(stderr, "dlscale: {} Steps that do not build upon it follow.\n",
             failure_text(step, exit));
  return std::nullopt;
}

/// The steps of a suite around its cells, in one count.
class Steps {
 public:
  Steps(const std::vector<SuiteStep>& steps, const SuiteProgress& progress, StepsPlace& place,
        bool quiet)
      : steps_(steps),
        progress_(progress),
        place_(place),
        left_(steps, progress),
        line_(steps, quiet) {}
  /// Those up to the last one that does not only derive from what others measured.
  void carry_out_measuring() {
    const auto last = std::ranges::find(steps_.rbegin(), steps_.rend(), false, &SuiteStep::always);
    carry_out_until(static_cast<std::size_t>(steps_.rend() - last));
  }
  void carry_out_rest() { carry_out_until(steps_.size()); }
  /// Says which were not carried out, and what that means for the exit code.
  [[nodiscard]] ExitCode conclude() const {
    if (failed_.empty()) return ExitCode::ok;
    const std::size_t others = missing_.size() - failed_.size();
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

 private:
  void carry_out_until(std::size_t end) {
    for (; next_ < end; ++next_) {
      const SuiteStep& step = steps_[next_];
      const SuiteStep* lacking = what_it_lacks(step);
      if (lacking != nullptr) {
        fmt::print(stderr, "dlscale: step \"{}\" is left out: it builds upon \"{}\"\n", step.name,
                   lacking->name);
        missing_.push_back(&step);
        line_.left_out(step);
      } else if (progress_.done(step) || carry_out_next()) {
        line_.finished(step, progress_.seconds(step));
      } else {
        if (!step.always) progress_.mark_begun_alone(step);
        failed_.push_back(step.name);
        missing_.push_back(&step);
        line_.left_out(step);
      }
    }
  }

  /// The first step that was not carried out and that it builds upon; null if there is none.
  [[nodiscard]] const SuiteStep* what_it_lacks(const SuiteStep& step) const {
    const auto found = std::ranges::find_if(
        missing_, [&step](const SuiteStep* earlier) { return builds_upon(step, *earlier); });
    return found == missing_.end() ? nullptr : *found;
  }

  /// Whether it succeeded.
  bool carry_out_next() {
    const SuiteStep& step = steps_[next_];
    const Begun begun = progress_.begun(step) ? Begun::yes : Begun::no;
    const bool alone = left_.alone(next_);
    if (!step.always) forget_what_follows();
    line_.announce(step);
    if (begun == Begun::no) empty_outputs(step);
    if (alone) {
      progress_.mark_begun_alone(step);
    } else {
      progress_.mark_begun(step);
    }
    place_.take();  // for the first step there was none before its mark
    const std::optional<double> seconds =
        carry_out(step, place_.of(step), begun, missing_.empty() ? Before::whole : Before::in_part);
    if (seconds) progress_.mark(step, *seconds);
    return seconds.has_value();
  }

  /// That it was done: it may read what the next step writes anew.
  void forget_what_follows() const {
    std::vector<SuiteStep> kept(steps_.begin(), steps_.begin() + static_cast<long>(next_));
    if (left_.alone(next_)) {
      const std::vector<bool> taken_along = with_builders(steps_, next_);
      for (std::size_t i = next_; i < steps_.size(); ++i) {
        if (!taken_along[i]) kept.push_back(steps_[i]);
      }
    }
    progress_.keep_only(kept);
  }

  const std::vector<SuiteStep>& steps_;
  const SuiteProgress& progress_;
  StepsPlace& place_;
  const StepsLeft left_;  ///< when this call began
  StepLines line_;
  std::size_t next_ = 0;
  std::vector<std::string> failed_;        ///< names, in this call
  std::vector<const SuiteStep*> missing_;  ///< those, and what builds upon them
};

void declare_run(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<SuiteRun>();
  verb.add_option("suite", options->suite,
                  "Name of a suite in configs/suites, or a YAML file; --list without one shows "
                  "those there are");
  verb.add_option("-o,--output", options->out, "Folder for results")->capture_default_str();
  verb.add_option("--data", options->data, "Data set folder (default: data in the output folder)");
  verb.add_option("--workers", options->workers, "Workers that share this machine")
      ->check(positive_count())
      ->capture_default_str();
  verb.add_option("--cores", options->cores, "Cores of a worker (default: an even share)")
      ->check(positive_count());
  verb.add_flag("--fresh", options->fresh,
                "Do every step again, and discard what was measured before; of a suite of cells "
                "those that are "
                "chosen (--name, --tag)");
  verb.add_flag("--list", options->list,
                "Print the commands, or without a suite the suites, and stop");
  verb.add_flag("--quiet", options->quiet, "Say nothing but what is wrong");
  verb.add_option(
          "--wait-quiet", options->options.wait_quiet_s,
          "Given to every step that measures until it knows enough: the most seconds that it "
          "spends on waiting for a quiet machine (see dlscale bench gemm --help)")
      ->check(positive_seconds());
  verb.add_option(
      "--cluster", options->options.cluster,
      "Given to every step that measures kernels: whose data sheet's peak rows have their "
      "share of");
  declare_cell_options(verb, options->cells);
  verb.footer(
      "Example: dlscale run quickstart -o results/local/quickstart\nInterrupt it at any time; the "
      "same command goes on.\nExit code 0: all was measured, 3: cells are left, 4: some failed, 5: "
      "nothing measured.");
  verb.callback([options, &result] {
    heed_end_of_job();
    result = run_suite(*options);
  });
}

void refuse_no_folder(const std::string& out) {
  std::error_code error;
  const fs::file_status status = fs::status(out, error);
  if (fs::is_directory(status) || status.type() == fs::file_type::not_found) return;
  throw ConfigError(
      fmt::format("{} {}, and the results of a suite need a folder. Name one with -o.", out,
                  error ? "cannot be used (" + error.message() + ")" : std::string("is a file")));
}

/// Options that nothing would heed.
void check_cell_options(const CellOptions& options, const Suite& suite) {
  if (suite.cells.empty() && options.any()) {
    throw ConfigError(fmt::format(
        "the suite {} has no cells, so options of cells (--system, --name, --tag, --seed and "
        "others) would have no effect: its steps build upon each other, on this "
        "machine. Leave them out.",
        suite.name));
  }
  if (!suite.steps.empty() && (options.submit || !options.write_scripts.empty())) {
    throw ConfigError(
        fmt::format("the suite {} has steps beside its cells, which run on one "
                    "machine one after the other, not in jobs. Start it inside of a "
                    "job, or put the cells into a suite of their own.",
                    suite.name));
  }
}

/// All that can be done without one is to say which there are.
ExitCode without_suite(const SuiteRun& options) {
  if (!options.list) {
    throw ConfigError(
        "which suite to carry out is missing. Name one: \"dlscale run --list\" shows those there "
        "are.");
  }
  CellOptions others = options.cells;
  others.tags.clear();
  if (others.any() || others.dry_run) {
    throw ConfigError(
        "no suite is named, so options of its cells but --tag would have no effect. Name one, or "
        "leave them out.");
  }
  return list_suites(options.cells.tags);
}

void refuse_launcher() {
  const auto launch = backend::detect_launch([](const char* name) { return std::getenv(name); });
  if (!launch || launch->size == 1) return;
  throw ConfigError(
      fmt::format("a suite was started by {}, but each of its steps starts the ranks it needs "
                  "itself. Start it without a launcher.",
                  launch->launcher));
}

}  // namespace

ExitCode run_suite(const SuiteRun& options) {
  if (options.suite.empty()) return without_suite(options);
  if (options.out.empty()) {
    throw ConfigError("--output is empty (results need a folder). Name one.");
  }
  refuse_launcher();
  Suite suite = load_suite(options.suite, placeholders(options));
  if (!suite.steps.empty()) check_workers(options);
  check_cell_options(options.cells, suite);
  add_options(options.options, suite);
  const CellCall cells{.suite = &suite,
                       .suite_file = options.suite,
                       .out = options.out,
                       .data = options.data,
                       .fresh = options.fresh,
                       .quiet = options.quiet,
                       .build = build_text(),
                       .node = "",
                       .options = options.cells,
                       .of_steps = options.options};
  if (options.list || options.cells.dry_run) {
    for (const SuiteStep& step : suite.steps) fmt::print("{}: {}\n", step.name, command_text(step));
    if (!suite.cells.empty()) list_cells(cells);
    return ExitCode::ok;
  }
  refuse_no_folder(options.out);
  if (!suite.cells.empty()) check_cells(cells);
  const SuiteProgress progress(options.out, build_text());
  StepsPlace place(options.out);
  if (!suite.steps.empty()) place.take();  // what it ends would hold outputs
  protect_outputs(suite.steps, progress, options.fresh ? Fresh::yes : Fresh::no);
  if (options.fresh) progress.give_up(suite.steps);
  Steps steps(suite.steps, progress, place, options.quiet);
  steps.carry_out_measuring();
  const ExitCode of_cells = suite.cells.empty() ? ExitCode::ok : run_cells(cells);
  steps.carry_out_rest();
  const ExitCode of_rows = conclude(wrong_rows(suite.steps));
  const ExitCode of_steps = steps.conclude();
  if (of_steps != ExitCode::ok) return of_steps;
  return of_rows == ExitCode::ok ? of_cells : of_rows;
}

extern const Verb run_verb{"run", "Carry out a suite of measurements, with progress and resumption",
                           declare_run, Verb::Signals::are_remembered};

}  // namespace dlscale::app
