#include "regression/rounds/interleaved_rounds.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <system_error>

#include "core/base/error.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output_file.hpp"
#include "core/system/process.hpp"
#include "core/text/shell_words.hpp"
#include "core/text/time_text.hpp"
#include "regression/rounds/output_word.hpp"
#include "regression/rounds/round_lines.hpp"
#include "suite/job/job.hpp"

namespace dlscale::regression {
namespace {

namespace fs = std::filesystem;

/// The file of a run's errors, beside its log.
fs::path errors_beside(const fs::path& log) {
  return fs::path(log).replace_extension(".errors.log");
}

/// The last line of a file that holds more than blanks. A failing run may have printed gigabytes,
/// of which the end is read.
std::string last_line_of(const fs::path& log) {
  constexpr std::streamoff most = 64 * 1024;
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const auto begin = std::max<std::streamoff>(0, file.tellg() - std::streamoff(most));
  file.seekg(begin);
  std::string end(std::istreambuf_iterator<char>(file), {});
  end.erase(end.find_last_not_of(" \t\r\n") + 1);
  return end.substr(end.find_last_of("\r\n") + 1);
}

/// " (\"the last line of a run's errors, or else of its output\")", for a message.
std::string last_line(const fs::path& log) {
  std::string last = last_line_of(errors_beside(log));
  if (last.empty()) last = last_line_of(log);
  if (last.size() > 300) last = last.substr(0, 300) + " ...";
  return last.empty() ? "" : fmt::format(" (\"{}\")", last);
}

/// Cuts a file down to its last mebibyte, from the beginning of a line on, and says so in it.
void keep_end_of(const fs::path& log) {
  constexpr std::uintmax_t most = std::uintmax_t{1} << 20U;
  std::error_code absent;
  const std::uintmax_t size = fs::file_size(log, absent);
  if (absent || size <= most) return;
  const std::string note_form =
      "[the first {} bytes of this run, which succeeded, were left out]\n";
  std::ifstream file(log, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(size - most + note_form.size() + 20));
  std::string end(std::istreambuf_iterator<char>(file), {});
  const std::size_t line = end.find('\n');
  if (line != std::string::npos && line + 1 < end.size()) end.erase(0, line + 1);
  std::ofstream(log, std::ios::binary | std::ios::trunc)
      << fmt::format(fmt::runtime(note_form), size - end.size()) << end;
}

/// A sentence on the folder of the runs if it takes no more files, as on a full disk: then the run
/// or its log may have missed them.
std::string full_folder(const fs::path& log) {
  const std::string problem = write_problem(log.parent_path());
  if (problem.empty()) return "";
  return fmt::format(" Nothing more can be written to {} ({}), so free space first.",
                     log.parent_path().string(), problem);
}

[[noreturn]] void fail_slow_run(const Arm& arm, int round, const fs::path& log) {
  throw Error(
      ExitCode::wrong_result,
      fmt::format("the run of {} in round {} was not done after its timeout of {} s and "
                  "was ended{}. Its output is in {}, its errors are in {}. Give it more time, or "
                  "find out what it waits for: the rounds so far are kept.",
                  arm.name, round, arm.timeout_s.value_or(0), last_line(log), log.string(),
                  errors_beside(log).string()));
}

[[noreturn]] void fail_run(const Arm& arm, int round, const ChildExit& exit, const fs::path& log) {
  const ExitCode code = arm.kind == Arm::Kind::own ? exit_code_of(exit) : ExitCode::wrong_result;
  // A dlscale run that ends as "regression" or "inconclusive" has nothing to compare.
  const bool judged = code == ExitCode::regression || code == ExitCode::inconclusive;
  throw Error(
      judged ? ExitCode::wrong_result : code,
      fmt::format("the run of {} in round {} {}{}. Its output is in {}, its errors are in {}. "
                  "Repair it and start again: the rounds so far are kept.{}",
                  arm.name, round, describe(exit), last_line(log), log.string(),
                  errors_beside(log).string(), full_folder(log)));
}

/// Reads the output of a run; errors name the run. A bad output in the first round is the fault of
/// the command, in later rounds that of the run.
RunOutcome read_run_of(const Arm& arm, int round, const fs::path& out, const fs::path& log,
                       Seconds wall) {
  try {
    return read_run(out, arm.measure, wall);
  } catch (const Error& error) {
    const bool of_run = error.code() == ExitCode::bad_input && round > 1;
    throw Error(
        of_run ? ExitCode::wrong_result : error.code(),
        fmt::format("the run of {} in round {} cannot be compared (its file is "
                    "{}, its log {}): {}{}",
                    arm.name, round, out.string(), log.string(), error.what(), full_folder(log)));
  }
}

/// The load average of the last minute, from /proc/loadavg.
std::optional<double> load_of(const suite::Conditions& conditions) {
  std::istringstream text(conditions.load);
  double load = 0;
  if (text >> load) return load;
  return std::nullopt;
}

void add_host(const suite::Conditions& before, const suite::Conditions& after,
              RunConditions& of_run) {
  of_run.load = load_of(before);
  if (before.throttled && after.throttled) {
    of_run.slowed_by_heat = *after.throttled - *before.throttled;
  }
}

/// The words of an arm's command, with its output. The last word of a foreign one is for a shell.
std::vector<std::string> command_of(const Arm& arm, const std::string& out) {
  std::vector<std::string> words;
  for (const std::string& word : arm.command) words.push_back(replaced(word, "{out}", out));
  if (arm.kind == Arm::Kind::foreign) words.back() = with_output(arm.command.back(), out);
  return words;
}

}  // namespace

std::vector<std::string> order_of_round(const std::vector<Arm>& arms, std::uint64_t seed,
                                        int number) {
  std::vector<std::string> order;
  for (const Arm& arm : arms) order.push_back(arm.name);
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(number)};
  std::mt19937 generator(sequence);
  // Libraries differ in std::shuffle, and the order must not depend on them.
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[generator() % i]);
  return order;
}

std::vector<std::string> shell_command(const std::string& text) {
  return {"/bin/sh", "-c", text};
}

InterleavedRounds::InterleavedRounds(fs::path folder, std::vector<Arm> arms, std::uint64_t seed,
                                     const std::string& question, Start start)
    : folder_(std::move(folder)), arms_(std::move(arms)), seed_(seed) {
  std::error_code error;
  fs::create_directories(folder_ / "runs", error);
  if (error) {
    throw ConfigError(fmt::format("{} cannot be made ({}). Name another folder.",
                                  (folder_ / "runs").string(), error.message()));
  }
  lock();
  if (start == Start::fresh && ftruncate(file_.get(), 0) != 0) {
    throw ConfigError(fmt::format("{} cannot be emptied ({}). Name another folder.",
                                  (folder_ / rounds_file).string(), std::strerror(errno)));
  }
  read(question);
  end_orphans(start);
}

void InterleavedRounds::lock() {
  const fs::path path = folder_ / rounds_file;
  file_ = Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file_) {
    throw ConfigError(fmt::format("{} cannot be written ({}). Name another folder.", path.string(),
                                  std::strerror(errno)));
  }
  // Without locks, appended lines stay complete as well.
  const Descriptor::Lock lock = file_.try_lock();
  locked_ = lock == Descriptor::Lock::held;
  if (lock != Descriptor::Lock::held_by_another) return;
  throw ConfigError(
      fmt::format("another dlscale is at work in {}. Wait for it, or name another "
                  "folder.",
                  folder_.string()));
}

std::string InterleavedRounds::place_of_run(std::string_view stem) const {
  return suite::place_of(folder_ / "runs", stem);
}

/// Ends orphans of the next round only, unless no rounds are kept. Processes that a command left in
/// a finished round on purpose, such as a server, may stay. Without a lock an orphan might belong
/// to another dlscale.
void InterleavedRounds::end_orphans(Start start) const {
  if (!locked_) return;
  const std::string stem =
      start == Start::fresh ? "round-" : fmt::format("round-{:03}-", rounds_.size() + 1);
  suite::end_orphans(place_of_run(stem), "a run");
}

void InterleavedRounds::read(const std::string& question) {
  const fs::path path = folder_ / rounds_file;
  const RoundLines lines = parse_round_lines(content_of(path), path.string());
  if (!lines.question) return begin(question);
  if (*lines.question != question) {
    throw ConfigError(fmt::format(
        "{} has rounds of another question (other commands, programs or options), and rounds of "
        "two questions are no answer to either. Discard them, or name another folder.",
        folder_.string()));
  }
  rounds_ = lines.rounds;
  if (ftruncate(file_.get(), static_cast<off_t>(lines.whole_bytes)) != 0) {
    throw ConfigError(fmt::format("{} cannot be written ({}). Name another folder.", path.string(),
                                  std::strerror(errno)));
  }
}

void InterleavedRounds::begin(const std::string& question) {
  if (ftruncate(file_.get(), 0) != 0) {
    throw ConfigError(fmt::format("{} cannot be written ({}). Name another folder.",
                                  folder_.string(), std::strerror(errno)));
  }
  append(question_line(question));
  (void)sync_folder(folder_);
}

/// Some network file systems report a full disk only when the file is flushed.
void InterleavedRounds::append(const std::string& line) {
  int error = write_all(file_.get(), line);
  if (error == 0) error = file_.sync();
  if (error == 0) return;
  throw ConfigError(
      fmt::format("{} cannot be written ({}). Free space and start again: the "
                  "rounds so far are kept.",
                  (folder_ / rounds_file).string(), std::strerror(error)));
}

RunOutcome InterleavedRounds::run(const Arm& arm, int round, double& seconds) const {
  const std::string stem = fmt::format("round-{:03}-{}", round, arm.name);
  const fs::path out = fs::absolute(folder_ / "runs" / (stem + ".out"));
  const fs::path log = folder_ / "runs" / (stem + ".log");
  fs::remove_all(out);  // left by an interrupted round
  fs::remove(log);
  fs::remove(errors_beside(log));
  suite::Job job{
      .command = {},
      .place = place_of_run(stem),
      .defaults = arm.variables,
      .log = log,
      .error_log = errors_beside(log),
      .timeout_s = arm.timeout_s,
      .signals = arm.kind == Arm::Kind::own ? ChildOptions::Signals::to_child
                                            : ChildOptions::Signals::to_group,
      .leftovers = locked_ ? suite::Job::Leftovers::are_ended : suite::Job::Leftovers::stay};
  job.command = command_of(arm, out.string());
  const suite::JobEnd end = suite::run_job(job);
  if (end.exit.timed_out) fail_slow_run(arm, round, log);
  if (end.exit.code != 0) fail_run(arm, round, end.exit, log);
  seconds += end.wall.si();
  RunOutcome outcome = read_run_of(arm, round, out, log, end.wall);
  add_host(end.before, end.after, outcome.conditions);
  // The folder of a thousand runs stays small. A run that failed keeps all.
  keep_end_of(log);
  keep_end_of(errors_beside(log));
  return outcome;
}

void InterleavedRounds::run_next() {
  Round round;
  round.number = static_cast<int>(rounds_.size()) + 1;
  round.order = order_of_round(arms_, seed_, round.number);
  for (const std::string& name : round.order) {
    const auto arm = std::ranges::find(arms_, name, &Arm::name);
    round.runs[name] = run(*arm, round.number, round.seconds);
  }
  round.date = utc_now();
  append(round_line(round));
  rounds_.push_back(std::move(round));
}

}  // namespace dlscale::regression
