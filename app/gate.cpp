// dlscale gate: compares two versions of a program by interleaved pairs of fresh processes, with a
// verdict and its exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/help_text.hpp"
#include "app/cli/option_values.hpp"
#include "app/cli/verb.hpp"
#include "app/gate/gate_session.hpp"
#include "app/report/answer_kinds.hpp"
#include "app/report/next_steps.hpp"
#include "backend/host/host.hpp"
#include "core/base/error.hpp"
#include "core/system/process.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/numbers.hpp"
#include "regression/gate/auto_margin.hpp"
#include "regression/gate/gate.hpp"
#include "regression/gate/gate_outlook.hpp"
#include "regression/rounds/command_files.hpp"
#include "regression/rounds/commit_builds.hpp"
#include "regression/rounds/interleaved_rounds.hpp"
#include "regression/rounds/output_word.hpp"
#include "report/sections/gate_sections.hpp"

namespace dlscale::app {
namespace {

using regression::Arm;
using regression::base_arm;
using regression::BuiltProgram;
using regression::canary_arm;
using regression::changed_arm;
using regression::GateExit;
using regression::Measure;
using regression::programs_of_commits;
using Clock = std::chrono::steady_clock;

struct GateOptions {
  std::string base;
  std::string changed;
  std::string base_build;
  std::string changed_build;
  std::string base_commit;
  std::string changed_commit;
  regression::CommitBuilds builds;
  int jobs = 0;  ///< compilers at once; 0: one a core
  std::string suite;
  std::vector<std::string> words;  ///< the command after --
  std::string measure = "auto";
  regression::GateRule rule;
  std::string margin = "0.01";
  int rounds = 40;
  std::optional<double> time_budget_s;
  std::optional<double> timeout_s;
  std::string inconclusive = "fail";
  bool fail_on_improvement = false;
  bool fail_on_missing = false;
  bool canary = false;
  int ranks = 0;
  RoundsSession session{"gate"};
};

/// Both versions, and the facts that identify this gate.
struct Versions {
  std::vector<Arm> arms;
  regression::GateSide base;
  regression::GateSide changed;
  std::string fingerprints;
  bool same_program = false;  ///< whether both builds are byte-identical
};

Measure parse_measure(std::string_view word) {
  if (word == "auto") return Measure::automatic;
  if (word == "results") return Measure::results;
  if (word == "google") return Measure::google;
  if (word == "wall") return Measure::wall;
  throw ConfigError(fmt::format(
      "--measure is \"{}\". Write results (result files of dlscale), google (JSON of Google "
      "Benchmark), wall (the time of the process) or auto.",
      escape_for_terminal(word)));
}

bool writes_out(const std::vector<std::string>& command) {
  return std::ranges::any_of(
      command, [](const std::string& word) { return word.find("{out}") != std::string::npos; });
}

/// A command that writes nothing can only be timed.
Measure measure_of(const GateOptions& options, const std::vector<std::string>& command) {
  const Measure wanted = parse_measure(options.measure);
  if (writes_out(command)) return wanted;
  if (wanted == Measure::automatic) return Measure::wall;
  if (wanted == Measure::wall) return wanted;
  throw ConfigError(fmt::format(
      "--measure {} needs a file to read, and the command \"{}\" has no placeholder for it. Write "
      "{{out}} where it names its output, as in \"dlscale bench gemm -o {{out}}\".",
      options.measure, escape_for_terminal(command.back())));
}

/// Refuses what was probably meant as {out}: the runs would be timed by the clock instead.
void refuse_other_placeholder(const char* name, const std::string& text) {
  const std::string word = regression::word_like_output(text);
  if (word.empty()) return;
  throw ConfigError(fmt::format(
      "the command of --{} has {}, which stands for no file. Write {{out}} where it names its "
      "output, or say --measure wall if the words are meant as they are.",
      name, escape_for_terminal(word)));
}

Arm foreign_arm(const char* name, const std::string& text, const GateOptions& options) {
  const std::vector<std::string> command = regression::shell_command(text);
  if (parse_measure(options.measure) != Measure::wall) refuse_other_placeholder(name, text);
  const Measure measure = measure_of(options, command);
  regression::expect_startable(name, text);
  return {name, command, {}, measure, Arm::Kind::foreign};
}

/// The words of the command for each version, with its output.
std::vector<std::string> own_words(const GateOptions& options) {
  if (!options.suite.empty() && !options.words.empty()) {
    throw ConfigError("--suite and a command after -- both say what to run. Leave one out.");
  }
  std::vector<std::string> words = options.words;
  if (!options.suite.empty()) words = {"run", options.suite};
  if (words.empty()) {
    throw ConfigError(
        "what the two builds should run is missing. Name a suite with --suite, or write the words "
        "of a command after --, as in \"-- bench gemm --sizes 256x256x256\".");
  }
  if (!writes_out(words) && !names_output(words)) words.insert(words.end(), {"-o", "{out}"});
  if (!writes_out(words)) {
    throw ConfigError(
        "the command after -- names its output itself, so that its runs would overwrite each "
        "other. Leave -o out, or write -o {out}.");
  }
  return words;
}

Arm own_arm(const char* name, const BuiltProgram& built, const GateOptions& options) {
  std::vector<std::string> command{built.program.string()};
  const std::vector<std::string> words = own_words(options);
  command.insert(command.end(), words.begin(), words.end());
  return {name, command, built.variables, measure_of(options, command), Arm::Kind::own};
}

Versions of_builds(const BuiltProgram& base, const BuiltProgram& changed,
                   const GateOptions& options) {
  Versions versions;
  versions.arms = {own_arm(base_arm, base, options), own_arm(changed_arm, changed, options)};
  versions.base.commit = base.commit;
  versions.changed.commit = changed.commit;
  versions.fingerprints = base.fingerprint + " " + changed.fingerprint;
  versions.same_program = base.fingerprint == changed.fingerprint;
  return versions;
}

void refuse_words(const GateOptions& options) {
  if (options.suite.empty() && options.words.empty()) return;
  throw ConfigError(
      "--suite and words after -- say what two builds or commits run; --base and --new are whole "
      "commands. Put them into the commands.");
}

void refuse_half(const std::string& base, const std::string& changed, const char* kind) {
  if (base.empty() == changed.empty()) return;
  throw ConfigError(fmt::format(
      "--{}{} stands alone, and a gate compares two versions. Name the other with --{}{}.",
      base.empty() ? "new" : "base", kind, base.empty() ? "base" : "new", kind));
}

Versions versions_of(const GateOptions& options) {
  refuse_half(options.base, options.changed, "");
  refuse_half(options.base_build, options.changed_build, "-build");
  refuse_half(options.base_commit, options.changed_commit, "-commit");
  const int kinds = (options.base.empty() ? 0 : 1) + (options.base_build.empty() ? 0 : 1) +
                    (options.base_commit.empty() ? 0 : 1);
  if (kinds != 1) {
    throw ConfigError(
        "a gate needs two versions of one kind. Name --base CMD --new CMD, --base-build DIR "
        "--new-build DIR or --base-commit REV --new-commit REV.");
  }
  if (!options.base_build.empty()) {
    return of_builds(regression::program_in(options.base_build),
                     regression::program_in(options.changed_build), options);
  }
  if (!options.base_commit.empty()) {
    own_words(options);  // check the words before an hour of building
    regression::CommitBuilds builds = options.builds;
    builds.jobs =
        options.jobs > 0 ? options.jobs : static_cast<int>(backend::usable_cores().size());
    const auto programs =
        programs_of_commits(std::array{options.base_commit, options.changed_commit}, builds);
    return of_builds(programs[0], programs[1], options);
  }
  refuse_words(options);
  Versions versions;
  versions.arms = {foreign_arm(base_arm, options.base, options),
                   foreign_arm(changed_arm, options.changed, options)};
  versions.fingerprints = regression::fingerprint_of_command(options.base) + " " +
                          regression::fingerprint_of_command(options.changed);
  return versions;
}

/// Adds rounds to the gate until it wants no more or the time budget is spent.
class GateTask final : public RoundsTask {
 public:
  explicit GateTask(const GateOptions& options)
      : gate_(options.rule, options.ranks), budget_s_(options.time_budget_s) {}

  void add(const regression::Round& round) override {
    gate_.add(round);
    round_s_ += (round.seconds - round_s_) / ++rounds_;
  }
  [[nodiscard]] bool wants_more() const override { return gate_.wants_more() && !is_late(); }
  [[nodiscard]] std::string progress() const override {
    const std::optional<double> left =
        budget_s_ ? std::optional(*budget_s_ - spent_s()) : std::nullopt;
    return gate_progress(gate_.verdict(), round_s_, left);
  }
  [[nodiscard]] std::string news() override {
    const regression::GateReport& verdict = gate_.verdict();
    if (was_said_ || !verdict.margin_of_noise) return "";
    const std::string decidable = regression::decidable_changes(verdict);
    was_said_ = !decidable.empty();
    if (!was_said_) return "";
    return fmt::format("by the noise of {}, {}; the margin is {}", counted(verdict.rounds, "round"),
                       decidable, percent(verdict.margin));
  }
  [[nodiscard]] regression::GateReport verdict() const {
    regression::GateReport verdict = gate_.verdict();
    if (const std::string now = regression::decidable_changes(verdict); !now.empty()) {
      verdict.notes.push_back(now);
      if (more_rounds_may_decide(verdict)) note_ways_to_decide(verdict);
    }
    if (gate_.wants_more()) {
      verdict.notes.push_back(fmt::format("the time budget of {} s ended after {} rounds",
                                          budget_s_.value_or(0), verdict.rounds));
    }
    return verdict;
  }

 private:
  static bool more_rounds_may_decide(const regression::GateReport& verdict) {
    const double margin = regression::least_margin(verdict);
    return verdict.verdict == regression::Verdict::inconclusive &&
           !std::ranges::all_of(verdict.metrics, [margin](const regression::GateMetric& metric) {
             return metric.is_decided() || regression::is_hidden_by_rounding(metric, margin);
           });
  }
  static void note_ways_to_decide(regression::GateReport& verdict) {
    const std::string more = regression::decidable_by_more_rounds(verdict);
    if (!more.empty()) verdict.notes.push_back(more);
    if (verdict.margin_of_noise) return;
    verdict.notes.push_back("--margin auto takes a margin that this machine can decide");
  }
  [[nodiscard]] double spent_s() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }
  [[nodiscard]] bool is_late() const { return budget_s_ && spent_s() >= *budget_s_; }

  regression::Gate gate_;
  std::optional<double> budget_s_;
  double round_s_ = 0;  ///< mean time of a round
  int rounds_ = 0;
  bool was_said_ = false;  ///< what the machine can decide
  Clock::time_point start_ = Clock::now();
};

GateExit exits_of(const GateOptions& options) {
  return {
      .inconclusive = options.inconclusive == "pass" ? GateExit::Inconclusive::passes
                                                     : GateExit::Inconclusive::fails,
      .improvement = options.fail_on_improvement ? GateExit::Improvement::fails
                                                 : GateExit::Improvement::passes,
      .missing = options.fail_on_missing ? GateExit::Missing::fails : GateExit::Missing::passes};
}

void refuse_too_few(int rounds) {
  if (rounds >= regression::least_rounds()) return;
  throw ConfigError(
      fmt::format("--rounds {} can decide nothing: even if all of them agree, chance does that "
                  "with {:.3g}, and "
                  "a verdict takes 0.05. Allow {} or more, which suffice for one metric.",
                  rounds, std::ldexp(1.0, -rounds), regression::least_rounds()));
}

/// A document with the gate's columns and one empty metric, to validate --format early.
report::Document document_like_a_gates() {
  regression::GateReport report;
  report.metrics.emplace_back();
  return report::gate_document(report);
}

/// Adds what the gate knows besides the rounds.
void describe(const Versions& versions, const GateOptions& options,
              regression::GateReport& report) {
  if (versions.same_program) {
    report.notes.push_back(
        "both builds hold the same program, byte for byte: only configurations and chance can "
        "differ");
  }
  if (report.invalid && options.session.is_kept()) {
    report.notes.push_back("--restart discards the rounds of the folder");
  }
  if (!report.invalid && !is_trusted(report)) {
    report.notes.push_back(
        "dlscale doctor finds what makes a machine noisy, and dlscale noise how small a change it "
        "shows");
  } else if (report.canary == regression::GateCanary::not_run) {
    report.notes.push_back("--canary adds an A/A test, which compares the base with itself");
  }
  report.seed = options.session.seed();
  report.machine = machine_text();
  report.base.command = versions.arms[0].command;
  report.base.commit = versions.base.commit;
  report.changed.command = versions.arms[1].command;
  report.changed.commit = versions.changed.commit;
}

/// "auto", or a fraction that its check accepted.
void take_margin(GateOptions& options) {
  if (options.margin == "auto") {
    options.rule.margin = regression::least_auto_margin;
    options.rule.margin_from = regression::GateRule::Margin::of_noise;
  } else {
    CLI::detail::lexical_cast(options.margin, options.rule.margin);
  }
}

ExitCode gate(GateOptions& options) {
  if (options.inconclusive != "pass" && options.inconclusive != "fail") {
    throw ConfigError(fmt::format("--inconclusive is \"{}\". Write pass or fail.",
                                  escape_for_terminal(options.inconclusive)));
  }
  options.session.check(document_like_a_gates());
  refuse_too_few(options.rounds);
  options.rule.looks = regression::looks_up_to(options.rounds);
  take_margin(options);
  Versions versions = versions_of(options);
  if (options.canary) {
    versions.arms.push_back(versions.arms.front());
    versions.arms.back().name = canary_arm;
  }
  for (Arm& arm : versions.arms) arm.timeout_s = options.timeout_s;
  GateTask task(options);
  options.session.measure(
      versions.arms, {{"programs", versions.fingerprints}, {"measure", options.measure}}, task);
  regression::GateReport report = task.verdict();
  describe(versions, options, report);
  report::Document document = report::gate_document(report);
  document.improvement_fails = options.fail_on_improvement;
  document.missing_fails = options.fail_on_missing && regression::is_trusted(report);
  document.next = steps_to_type(steps_of_gate(report, options.session.answer_file()));
  options.session.write(document);
  return exit_code(report, exits_of(options));
}

void declare_versions(CLI::App& verb, GateOptions& options) {
  verb.add_option("--base", options.base,
                  "A command line, as a shell reads it; {out} stands for the file it writes");
  verb.add_option("--new", options.changed, "The same of the version to judge");
  verb.add_option("--base-build", options.base_build, "A folder that dlscale was built in")
      ->type_name("FOLDER");
  verb.add_option("--new-build", options.changed_build, "The same of the version to judge")
      ->type_name("FOLDER");
  verb.add_option("--base-commit", options.base_commit,
                  "A commit, which is built in a git worktree of its own and kept in a cache");
  verb.add_option("--new-commit", options.changed_commit, "The same of the version to judge");
  verb.add_option("--repository", options.builds.repository, "Where the commits are")
      ->type_name("FOLDER")
      ->capture_default_str();
  verb.add_option("--preset", options.builds.preset, "CMake preset that builds them")
      ->capture_default_str();
  verb.add_option("--cache", options.builds.cache,
                  "Folder of their worktrees (default: dlscale/gate in the user's cache)")
      ->type_name("FOLDER")
      ->envname("DLSCALE_GATE_CACHE");
  verb.add_option("--jobs", options.jobs, "Compilers at once (default: one a core)")
      ->check(positive_count())
      ->envname("DLSCALE_JOBS");
  verb.add_option("--suite", options.suite, "What two builds or commits run: a suite")
      ->type_name("SUITE");
  verb.add_option("words", options.words, "After --: what they run, as in -- bench gemm");
}

CLI::Validator margin() {
  return {[](std::string& text) { return text == "auto" ? "" : margin_fraction()(text); },
          "FLOAT in [0 - 1) or auto"};
}

/// refuse_too_few() refuses values below 5 with the reason, so this check accepts them.
CLI::Validator rounds() {
  return {[](std::string& text) {
            const bool fits = CLI::Range(1, 1000)(text).empty();
            return fits ? "" : fmt::format("Value {} not in range 5 to 1000", text);
          },
          "INT in [5 - 1000]"};
}

void declare_rule(CLI::App& verb, GateOptions& options) {
  verb.add_option("--measure", options.measure,
                  "What a run tells: results (of dlscale, in {out}), google (JSON of Google "
                  "Benchmark, in {out}), wall (time of its process); auto: by what is in {out}, "
                  "wall without it")
      ->type_name("{results,google,wall,auto}")
      ->capture_default_str();
  verb.add_option("--margin", options.margin,
                  "Changes smaller than this fraction do not matter; several nodes: 0.02; auto: "
                  "what this machine can decide, by the noise of the first rounds")
      ->check(margin())
      ->capture_default_str();
  verb.add_option("--rounds", options.rounds,
                  "Most rounds, at least 5; looks are taken after 10, 20, 40, … and at the last")
      ->check(rounds())
      ->capture_default_str();
  verb.add_option("--time-budget", options.time_budget_s,
                  "Seconds after which no further round begins")
      ->check(positive());
  verb.add_option("--timeout", options.timeout_s,
                  "Seconds after which a run is ended; the gate then fails with exit code 4")
      ->check(positive_seconds());
  verb.add_option("--ranks", options.ranks, "Ranks that each run must have had")
      ->check(positive_count());
}

void group_gate_options(CLI::App& verb) {
  group_options(
      verb,
      {{"What to compare",
        {"--base", "--new", "--base-build", "--new-build", "--base-commit", "--new-commit",
         "--suite"}},
       {"How to measure", {"--rounds", "--time-budget", "--timeout"}},
       {"Verdict", {"--margin", "--inconclusive", "--fail-on-improvement", "--fail-on-missing"}},
       {"Output", {"--output", "--restart", "--format", "--write"}},
       {"Advanced: builds of commits", {"--repository", "--preset", "--cache", "--jobs"}},
       {"Advanced: measurement and output",
        {"--measure", "--seed", "--ranks", "--canary", "--quiet", "--color"}}});
}

void declare_gate(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<GateOptions>();
  declare_versions(verb, *options);
  declare_rule(verb, *options);
  verb.add_flag("--canary", options->canary,
                "Run the base twice a round: if it differs from itself, the session tells nothing");
  verb.add_option("--inconclusive", options->inconclusive,
                  "Whether an inconclusive gate may pass: fail (exit code 3) or pass (0)")
      ->type_name("{fail,pass}")
      ->capture_default_str();
  verb.add_flag("--fail-on-improvement", options->fail_on_improvement,
                "Exit code 1 for an improvement, too: the baseline is stale");
  verb.add_flag("--fail-on-missing", options->fail_on_missing,
                "Exit code 1 if the new version did not measure what the base did");
  options->session.declare(verb);
  group_gate_options(verb);
  verb.footer(
      "Example: dlscale gate --base-build build/main --new-build build/release -- bench gemm "
      "--sizes 256x256x256 --cache hot\nExit code 0: not regressed, 1: regressed, 3: inconclusive, "
      "4: a run failed or rounds have nothing in common, 5: nothing measured.");
  verb.callback([options, &result] {
    heed_end_of_job();
    result = gate(*options);
  });
}

}  // namespace

extern const Verb gate_verb{"gate",
                            "Judge whether a version is slower than another, by interleaved runs",
                            declare_gate, Verb::Signals::are_remembered};

}  // namespace dlscale::app
