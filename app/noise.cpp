// dlscale noise: finds the smallest change that a machine's noise lets the gate detect, by
// interleaved runs of identical and slowed kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/option_values.hpp"
#include "app/cli/verb.hpp"
#include "app/gate/gate_session.hpp"
#include "app/report/measured_steps.hpp"
#include "core/base/error.hpp"
#include "core/system/build_info.hpp"
#include "core/system/process.hpp"
#include "core/system/this_command_line.hpp"
#include "core/text/suggest.hpp"
#include "regression/gate/noise_study.hpp"
#include "regression/rounds/interleaved_rounds.hpp"

namespace dlscale::app {
namespace {

using regression::Arm;
using regression::KernelNoise;
using regression::Measure;
using regression::noise_arm;
using regression::noise_twin;
using regression::NoiseStudy;
using regression::Round;
using regression::RuleRates;

/// A kernel of a study, and the arguments of `dlscale bench` that measure it.
struct NoiseKernel {
  std::string name;
  std::vector<std::string> words;
};

/// Each takes some milliseconds for a sample.
std::vector<NoiseKernel> noise_kernels() {
  return {{"gemm", {"gemm", "--sizes", "96x96x96", "--cache", "hot", "--check", "no"}},
          {"triad", {"memory", "--operations", "triad", "--sizes", "512 KiB"}},
          {"convolution",
           {"conv", "--network", "resnet50", "--batch", "1", "--layers", "res2a_branch2a",
            "--passes", "forward", "--cache", "hot", "--check", "no"}},
          {"update", {"update", "--sizes", "256 KiB", "--cache", "hot"}}};
}

struct NoiseOptions {
  double minutes = 10;
  std::vector<std::string> kernels{"gemm", "triad", "update"};
  std::vector<int> percents{1, 2, 5, 10};
  double margin = 0.01;
  RoundsSession session{"noise"};
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
  arm.command = {this_program().string(), "bench"};
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

/// Collects rounds until the time is spent. It includes rounds that the folder already holds, so an
/// interrupted study ends after the same time.
class NoiseTask final : public RoundsTask {
 public:
  explicit NoiseTask(double minutes) : budget_s_(minutes * 60) {}
  void add(const Round& round) override {
    rounds_.push_back(round);
    spent_s_ += round.seconds;
  }
  [[nodiscard]] bool wants_more() const override { return spent_s_ < budget_s_; }
  [[nodiscard]] std::string progress() const override {
    return noise_progress(static_cast<int>(rounds_.size()), spent_s_, budget_s_);
  }
  [[nodiscard]] const std::vector<Round>& rounds() const { return rounds_; }

 private:
  double budget_s_;
  double spent_s_ = 0;
  std::vector<Round> rounds_;
};

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
  options.session.check(document_like_a_studys());
  NoiseTask task(options.minutes);
  options.session.measure(arms_of(chosen(options), options), {{"build", build_id()}}, task);
  NoiseStudy study = options.session.keep_on_failure([&] {
    return study_noise(task.rounds(), options.kernels, options.percents, options.margin);
  });
  study.machine = machine_text();
  report::Document document = noise_document(study);
  document.next = steps_of_noise();
  options.session.write(document);
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
  options->session.declare(verb);
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
