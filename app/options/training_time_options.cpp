#include "app/options/training_time_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "app/cli/number_words.hpp"
#include "app/options/training_cost_options.hpp"
#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/quantity_text.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::app {
namespace {

/// The time of an optional option.
Seconds time_of(const std::string& text, std::string_view option) {
  if (text.empty()) return {};
  const auto time = parse_quantity<Seconds>(text, option);
  if (time >= Seconds() && time <= Seconds(1e12)) return time;
  throw ConfigError(
      fmt::format("{} is {}, which is not a time from 0 to 1e12 s; expected, for example, 90 s.",
                  option, text));
}

/// A validator for numbers above 0 and up to `most`, so that results stay finite.
CLI::Validator up_to(double most) {
  const auto check = [most](const std::string& text) -> std::string {
    double value = 0;
    const bool number = CLI::detail::lexical_cast(text, value);
    if (number && value > 0 && value <= most) return {};
    if (std::string advice = advice_on_number(text, Numbers::one); !advice.empty()) return advice;
    return fmt::format("{} is not a number above 0 and up to {:g}; expected, for example, 1", text,
                       most);
  };
  return {check, "NUMBER"};
}

}  // namespace

void TrainingTimeOptions::declare(CLI::App& command) {
  CLI::Option* by_epochs =
      command.add_option("--epochs", epochs, "Print the time to train for so many epochs")
          ->check(up_to(1e9));
  CLI::Option* by_target =
      command.add_option("--target", target, "Print the time to a target: " + known_targets())
          ->type_name("NAME")
          ->excludes(by_epochs);
  CLI::Option* by_points =
      command
          .add_option("--epochs-at", epochs_at,
                      "The same by the epochs E (1 + B / C) fitted to those that some global "
                      "batches took, such as 8192=64,32768=90")
          ->type_name("BATCH=EPOCHS")
          ->delimiter(',')
          ->excludes(by_epochs)
          ->excludes(by_target);
  CLI::Option* by_tokens =
      command
          .add_option("--tokens", tokens,
                      "Print what a training with so many tokens takes, such as 15T: days, "
                      "failures, energy")
          ->type_name("NUMBER")
          ->excludes(by_epochs)
          ->excludes(by_target)
          ->excludes(by_points);
  for (const char* other : {"--layers", "--explain"}) {
    for (CLI::Option* option : {by_epochs, by_target, by_points, by_tokens}) {
      option->excludes(command.get_option(other));
    }
  }
  command.add_option("--samples", samples, "Images per epoch (default: those of ImageNet)")
      ->check(up_to(1e15));
  command.add_option("--evaluation", evaluation, "Time of one evaluation, such as \"30 s\"")
      ->type_name("TIME");
  command
      .add_option("--evaluations-per-epoch", evaluations_per_epoch,
                  "Evaluations per epoch (default: 1)")
      ->check(up_to(1e9));
  command.add_option("--start", start, "Time before the first iteration, such as \"120 s\"")
      ->type_name("TIME");
}

void TrainingTimeOptions::check() const {
  if (!tokens.empty() && (samples || evaluations_per_epoch)) {
    throw ConfigError(
        "--samples and --evaluations-per-epoch are about epochs, and --tokens states the whole "
        "training. Leave them out.");
  }
  if (asked()) return;
  const auto refuse = [](std::string_view option) {
    throw ConfigError(
        fmt::format("{} is about the time to train, which needs the epochs. Give --epochs 90, or "
                    "--target {}.",
                    option, target_names().front()));
  };
  if (samples) refuse("--samples");
  if (!evaluation.empty()) refuse("--evaluation");
  if (evaluations_per_epoch) refuse("--evaluations-per-epoch");
  if (!start.empty()) refuse("--start");
}

report::TrainingGoal TrainingTimeOptions::goal(std::string_view network) const {
  EXPECT(asked());
  report::TrainingGoal goal;
  goal.epochs = epochs;
  if (!tokens.empty()) goal.tokens = parse_tokens(tokens);
  if (!target.empty()) {
    const model::TrainingTarget& known = find_target(target, network);
    goal.target = known.convergence;
    goal.target_name = target;
    goal.samples = known.samples;
  }
  if (!epochs_at.empty()) {
    goal.target = fitted_epochs(epochs_at);
    goal.target_name = "what --epochs-at states";
  }
  goal.samples = samples.value_or(goal.samples);
  goal.evaluation = time_of(evaluation, "--evaluation");
  goal.evaluations_per_epoch = evaluations_per_epoch.value_or(goal.evaluations_per_epoch);
  goal.start = time_of(start, "--start");
  return goal;
}

void expect_samples(const Network& network, bool given, bool may_be_tokens) {
  if (given || !network.is_over_sequences()) return;
  throw ConfigError(
      fmt::format("an epoch of {} has as many sequences as the data, which no option says. Give "
                  "--samples N{}.",
                  network.name(), may_be_tokens ? ", or --tokens N in place of epochs" : ""));
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const model::TrainingTarget& target : model::training_targets) {
    names.emplace_back(target.name);
  }
  return names;
}

std::string known_targets() {
  std::vector<std::string> texts;
  for (const model::TrainingTarget& target : model::training_targets) {
    texts.push_back(fmt::format("{} ({}, {})", target.name, target.network, target.reached));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

namespace {

/// A number above 0 and at most 1e12.
double number_of(std::string_view text, std::string_view whole) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value > 0 && value <= 1e12) return value;
  throw ConfigError(
      fmt::format("--epochs-at has \"{}\" (a global batch and the epochs it took, both above 0). "
                  "Write, for example, 8192=64.",
                  escape_for_terminal(whole)));
}

}  // namespace

model::Convergence fitted_epochs(const std::vector<std::string>& points) {
  std::vector<model::EpochsAt> read;
  for (const std::string& text : points) {
    const std::string_view whole(text);
    const std::size_t sign = std::min(whole.find('='), whole.size());
    const std::string_view epochs = whole.substr(std::min(sign + 1, whole.size()));
    read.push_back({number_of(whole.substr(0, sign), whole), number_of(epochs, whole)});
  }
  const auto other_batch = [&](const model::EpochsAt& one) {
    return one.batch != read.front().batch;
  };
  if (std::ranges::none_of(read, other_batch)) {
    throw ConfigError(
        "--epochs-at names one global batch, and epochs by batch need two. Add what another batch "
        "took, or say --epochs.");
  }
  return model::fit_convergence(read);
}

const model::TrainingTarget& find_target(std::string_view name, std::string_view network) {
  for (const model::TrainingTarget& target : model::training_targets) {
    if (target.name != name) continue;
    if (network.starts_with(target.network)) return target;
    throw ConfigError(fmt::format(
        "--target {} is known for {} alone, and this is {}. Say how long training takes with "
        "--epochs and --samples.",
        name, target.network, network));
  }
  throw ConfigError(fmt::format(
      "--target {} is not a training whose epochs by batch are known. {} Or state them: "
      "--epochs 90.",
      escape_for_terminal(name), suggestion(name, target_names())));
}

}  // namespace dlscale::app
