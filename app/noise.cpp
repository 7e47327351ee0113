// dlscale noise: finds the smallest change that a machine's noise lets the gate detect, by
// interleaved runs of identical and slowed kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/option_values.hpp"
#include "app/cli/verb.hpp"
#include "app/gate/gate_session.hpp"
#include "app/gate/interleaved.hpp"
#include "app/gate/noise_study.hpp"
#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"
#include "core/system/build_info.hpp"
#include "core/system/environment.hpp"
#include "core/system/output.hpp"
#include "core/system/own_command.hpp"
#include "core/system/process.hpp"
#include "core/text/numbers.hpp"
#include "core/text/progress_line.hpp"
#include "core/text/suggest.hpp"
#include "report/format/format.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct NoiseOptions {
  double minutes = 10;
  std::vector<std::string> kernels{"gemm", "triad", "update"};
  std::vector<int> percents{1, 2, 5, 10};
  double margin = 0.01;
  std::uint64_t seed = 1;
  bool quiet = false;
  SessionFolder folder;
  std::string format = "table";
  FurtherForms further;
  std::string colour = "auto";
};

std::vector<NoiseKernel> chosen(const NoiseOptions& options) {
  const std::vector<NoiseKernel> known = noise_kernels();
  std::vector<std::string> names;
  for (const NoiseKernel& kernel : known) names.push_back(kernel.name);
  std::vector<NoiseKernel> kernels;
  for (const std::string& name : options.kernels) {
    const auto found = std::ranges::find(known, name, &NoiseKernel::name);
    if (found == known.end()) {
      throw ConfigError(
          fmt::format("\"{}\" is not a kernel of a study. {}", name, suggestion(name, names)));
    }
    if (std::ranges::count(options.kernels, name) > 1) {
      throw ConfigError(fmt::format("the kernel \"{}\" is named twice. Name it once.", name));
    }
    kernels.push_back(*found);
  }
  return kernels;
}

Arm arm_of(const NoiseKernel& kernel, const std::string& name, int percent) {
  Arm arm;
  arm.name = name;
  arm.command = {own_program().string(), "bench"};
  arm.command.insert(arm.command.end(), kernel.words.begin(), kernel.words.end());
  // The minimum of fewer than ten repetitions is not reliable, and a study needs many runs.
  arm.command.insert(arm.command.end(),
                     {"--samples", "10", "--warm-ups", "2", "--comm", "local", "--extra-work",
                      fmt::format("{}%", percent), "-o", "{out}"});
  arm.measure = Measure::results;
  arm.kind = Arm::Kind::own;
  return arm;
}

std::vector<Arm> arms_of(const std::vector<NoiseKernel>& kernels, const NoiseOptions& options) {
  std::vector<Arm> arms;
  for (const NoiseKernel& kernel : kernels) {
    arms.push_back(arm_of(kernel, noise_arm(kernel.name, 0), 0));
    arms.push_back(arm_of(kernel, noise_twin(kernel.name), 0));
    for (const int percent : options.percents) {
      arms.push_back(arm_of(kernel, noise_arm(kernel.name, percent), percent));
    }
  }
  return arms;
}

void check_effects(const NoiseOptions& options) {
  const std::set<int> distinct(options.percents.begin(), options.percents.end());
  const bool ranged = std::ranges::all_of(
      options.percents, [](int percent) { return percent > 0 && percent <= 100; });
  if (!ranged || distinct.size() != options.percents.size()) {
    throw ConfigError(fmt::format(
        "--effects is {}: whole percents of more work from 1 to 100, each once. Write 1,2,5,10.",
        fmt::join(options.percents, ",")));
  }
}

std::string noise_question(const std::vector<Arm>& arms, const NoiseOptions& options) {
  nlohmann::ordered_json question;
  question["verb"] = "noise";
  for (const Arm& arm : arms) question["commands"][arm.name] = arm.command;
  question["build"] = build_id();
  question["seed"] = options.seed;
  return question.dump();
}

/// The time limit includes rounds that the folder already holds, so an interrupted study ends after
/// the same time.
void measure(InterleavedRounds& rounds, const NoiseOptions& options) {
  ProgressLine progress(ProgressLine::kind_for(options.quiet));
  double spent = 0;
  for (const Round& round : rounds.rounds()) spent += round.seconds;
  const double budget = options.minutes * 60;
  while (spent < budget) {
    throw_if_interrupted();
    rounds.run_next();
    spent += rounds.rounds().back().seconds;
    progress.show(noise_progress(rounds.rounds().back().number, spent, budget));
  }
}

/// A document with the study's columns, one kernel and one rule, to validate formats early.
report::Document document_like_a_studys() {
  RuleRates rule;
  rule.windows = 1;
  KernelNoise kernel;
  kernel.rules.push_back(std::move(rule));
  NoiseStudy study;
  study.kernels.push_back(std::move(kernel));
  return noise_document(study);
}

ExitCode noise(NoiseOptions& options) {
  check_effects(options);
  const auto& format = report::format::find_format(options.format);
  options.further.check(document_like_a_studys());
  const std::vector<NoiseKernel> kernels = chosen(options);
  const std::vector<Arm> arms = arms_of(kernels, options);
  options.folder.open("noise");
  NoiseStudy study;
  try {
    InterleavedRounds rounds(options.folder.path(), arms, options.seed,
                             noise_question(arms, options), options.folder.start());
    measure(rounds, options);
    study = study_noise(rounds.rounds(), kernels, options.percents, options.margin);
  } catch (const Error&) {
    options.folder.keep();
    throw;
  }
  const Environment environment = capture_environment();
  study.machine = fmt::format("{}, {}", environment.cpu, counted(environment.cores, "core"));
  const report::Document document = noise_document(study);
  if (options.folder.is_kept()) {
    write_output((fs::path(options.folder.path()) / "noise.json").string(), document.json());
  }
  write_output("-", format.write(document, terminal_of_output(options.colour)));
  options.further.write(document);
  return ExitCode::ok;
}

void declare_noise(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<NoiseOptions>();
  verb.add_option("--minutes", options->minutes, "How long to measure, in all calls together")
      ->check(positive())
      ->capture_default_str();
  verb.add_option("--kernels", options->kernels, "Of gemm, triad, convolution and update")
      ->delimiter(',')
      ->capture_default_str();
  verb.add_option("--effects", options->percents, "Sizes of the slow-downs, in percent of the work")
      ->delimiter(',')
      ->capture_default_str();
  verb.add_option("--margin", options->margin, "That of the gate whose power is wanted")
      ->check(margin_fraction())
      ->capture_default_str();
  verb.add_option("--seed", options->seed, "Of the order within rounds")
      ->check(seed())
      ->capture_default_str()
      ->envname("DLSCALE_SEED");
  verb.add_flag("--quiet", options->quiet, "Say nothing but what is wrong while it measures");
  options->folder.declare(verb);
  declare_format(verb, options->format);
  options->further.declare(verb);
  declare_colour(verb, options->colour);
  verb.footer(
      "Example: dlscale noise --minutes 10 -o results/local/noise\nInterrupt it at any time; the "
      "same command goes on.");
  verb.callback([options, &result] {
    heed_end_of_job();
    result = noise(*options);
  });
}

}  // namespace

extern const Verb noise_verb{"noise", "What a machine's noise hides from the gate", declare_noise,
                             Verb::Signals::are_remembered};

}  // namespace dlscale::app
