#include "app/options/training_cost_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/quantity_text.hpp"
#include "core/text/suggest.hpp"
#include "model/goodput/data_parallel.hpp"
#include "report/goodput/training_cost_fields.hpp"

namespace dlscale::app {
namespace {

using model::goodput::CostQuestion;
using model::goodput::Power;
using model::goodput::StatedMtbf;

constexpr int most_spares = 100'000;

/// "gpu" and "50000h" of "gpu=50000h".
std::pair<std::string_view, std::string> key_and_value(std::string_view option,
                                                       const std::string& text,
                                                       std::string_view example) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign + 1 == text.size()) {
    throw ConfigError(fmt::format("{} has \"{}\", which is not a name with a value. Write {}.",
                                  option, escape_for_terminal(text), example));
  }
  return {std::string_view(text).substr(0, sign), text.substr(sign + 1)};
}

[[noreturn]] void refuse_name(std::string_view option, std::string_view name,
                              const std::vector<std::string>& names) {
  throw ConfigError(fmt::format("{} names \"{}\", which it does not know. {}", option,
                                escape_for_terminal(name), suggestion(name, names)));
}

[[noreturn]] void refuse_second(std::string_view option, std::string_view what) {
  throw ConfigError(fmt::format("{} states {} twice. Keep one.", option, what));
}

/// A time from `least` on with its unit. Advice on a faulty one is about long times.
Seconds long_time(const std::string& text, Seconds least, std::string_view option,
                  std::string_view example) {
  std::optional<Seconds> time;
  try {
    time = parse_quantity<Seconds>(text, option);
  } catch (const ConfigError&) {
    time.reset();  // its advice is in milliseconds
  }
  if (time && *time >= least && *time <= Seconds(max_plausible_time_s)) return *time;
  throw ConfigError(
      fmt::format("{} has {}, which is not a time from {:g} to 1e12 s with its unit, s, min, h or "
                  "d. Write, for "
                  "example, {}.",
                  option, escape_for_terminal(text), least.si(), example));
}

double hours_between(const std::string& text) {
  if (text == "never") return std::numeric_limits<double>::infinity();
  return long_time(text, Seconds(1), "--mtbf", "gpu=50000h").si() / 3600;
}

struct MtbfKey {
  const char* name;
  std::optional<double> StatedMtbf::*hours;
};
constexpr std::array mtbf_keys{
    MtbfKey{"gpu", &StatedMtbf::device_h}, MtbfKey{"node", &StatedMtbf::host_h},
    MtbfKey{"network", &StatedMtbf::network_h}, MtbfKey{"software", &StatedMtbf::software_h},
    MtbfKey{"all", &StatedMtbf::all_h}};

StatedMtbf read_mtbf(const std::vector<std::string>& texts) {
  StatedMtbf read;
  for (const std::string& text : texts) {
    const auto [name, value] = key_and_value("--mtbf", text, "gpu=50000h");
    std::vector<std::string> names;
    bool known = false;
    for (const MtbfKey& key : mtbf_keys) {
      names.emplace_back(key.name);
      if (name != key.name) continue;
      if (read.*key.hours) refuse_second("--mtbf", name);
      read.*key.hours = hours_between(value);
      known = true;
    }
    if (!known) refuse_name("--mtbf", name, names);
  }
  if (read.all_h && texts.size() > 1) {
    throw ConfigError(
        "--mtbf states all failures together and single kinds as well. Leave one out.");
  }
  return read;
}

/// A number from `least` to `most` with one of the units behind it, which multiply it.
double number_in(const std::string& text, double least, double most, std::string_view option,
                 std::string_view example,
                 std::initializer_list<std::pair<std::string_view, double>> units) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, factor] : units) {
    const double scaled = value * factor;
    if (error == std::errc() && unit == name && scaled >= least && scaled <= most) return scaled;
  }
  throw ConfigError(
      fmt::format("{} has {}, which is not a number from {:g} to {:g}; expected, for "
                  "example, {}.",
                  option, escape_for_terminal(text), least, most, example));
}

double watts(const std::string& text, double least) {
  return number_in(text, least, 1e5, "--power", "gpu=600W", {{"W", 1}, {"kW", 1000}});
}

Power read_power(const std::vector<std::string>& texts, Power power) {
  std::set<std::string, std::less<>> stated;
  for (const std::string& text : texts) {
    const auto [name, value] = key_and_value("--power", text, "gpu=600W");
    if (!stated.emplace(name).second) refuse_second("--power", name);
    if (name == "gpu") {
      power.device_w = watts(value, 1);
    } else if (name == "host") {
      power.host_w = watts(value, 0);
    } else if (name == "pue") {
      power.pue = number_in(value, 1, 10, "--power", "pue=1.2", {{"", 1}});
    } else {
      refuse_name("--power", name, {"gpu", "host", "pue"});
    }
  }
  return power;
}

model::goodput::CheckpointHabit read_checkpoints(const std::vector<std::string>& texts) {
  model::goodput::CheckpointHabit habit;
  bool has_length = false;
  for (const std::string& text : texts) {
    const bool is_async = text == "async";
    if (is_async ? habit.asynchronous : has_length) {
      refuse_second("--checkpoint-every", is_async ? "async" : "its time");
    }
    habit.asynchronous |= is_async;
    has_length |= !is_async;
    if (is_async || text == "best") continue;
    habit.every = long_time(text, Seconds(1e-3), "--checkpoint-every", "30min");
  }
  return habit;
}

/// CLI::Range takes nan for a number in any range.
CLI::Validator price_range() {
  constexpr double least = 1e-6;
  constexpr double most = 1e9;
  const auto check = [=](const std::string& text) -> std::string {
    double value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    if (is_number && value >= least && value <= most) return {};
    return fmt::format("{} is not a price from {:g} to {:g}; expected, for example, 2", text, least,
                       most);
  };
  return {check, "NUMBER"};
}

CLI::Validator spare_count() {
  const auto check = [](const std::string& text) -> std::string {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_whole = error == std::errc() && end == text.data() + text.size();
    if (is_whole && value >= 0 && value <= most_spares) return {};
    return fmt::format("{} is not a whole number of nodes from 0 to {}; expected, for example, 2",
                       text, most_spares);
  };
  return {check, "NUMBER"};
}

/// Refuses a training that ends within its first iteration.
void expect_an_iteration(const CostQuestion& question) {
  if (question.samples >= question.samples_per_iteration) return;
  throw ConfigError(
      fmt::format("The training is shorter than an iteration, of {} {}. State a longer one.",
                  report::amount_text(question.samples_per_iteration), question.samples_are));
}

}  // namespace

void TrainingCostOptions::declare(CLI::App& command) {
  command
      .add_option("--cost-per-gpu-hour", price,
                  "Cost of one device for an hour; adds price, energy and failures")
      ->check(price_range())
      ->type_name("NUMBER");
  command
      .add_option("--mtbf", mtbf,
                  "Mean time between failures of one gpu, node, network or software, or of all "
                  "together by GPU: gpu=50000h,node=never (default: as published)")
      ->type_name("KIND=TIME")
      ->delimiter(',');
  command
      .add_option("--checkpoint-every", checkpoints,
                  "Work between checkpoints, or best (the default); async: written while training "
                  "goes on, as 30min,async")
      ->type_name("TIME")
      ->delimiter(',');
  command
      .add_option("--spares", spares,
                  "Spare nodes that the job pays for (default: others stand in at once)")
      ->check(spare_count())
      ->type_name("NUMBER");
  command
      .add_option("--power", power,
                  "Measured power a GPU, of a gpu in iterations and its part of the host, and the "
                  "building's factor: gpu=600W,host=250W,pue=1.2")
      ->type_name("PART=POWER")
      ->delimiter(',');
}

void TrainingCostOptions::check(bool has_length) const {
  if (has_length || !asked()) return;
  throw ConfigError(
      "--cost-per-gpu-hour, --mtbf, --checkpoint-every, --spares and --power are about a whole "
      "training, which needs a length. Give --tokens 15T, --epochs 90 or --target.");
}

void TrainingCostOptions::apply(CostQuestion& question) const {
  expect_an_iteration(question);
  question.price_per_device_hour = price;
  question.mtbf = read_mtbf(mtbf);
  question.checkpoint = read_checkpoints(checkpoints);
  question.spares = spares;
  question.power = read_power(power, question.power);
}

double parse_tokens(const std::string& text) {
  return number_in(text, 1, 1e18, "--tokens", "15T",
                   {{"", 1}, {"K", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}});
}

std::vector<model::goodput::TrainingCost> training_costs(
    const TrainingCostOptions& options, const Network& network, const model::Machine& machine,
    std::span<const model::Prediction> predictions, const report::TrainingGoal& goal) {
  std::vector<model::goodput::TrainingCost> costs;
  for (const model::Prediction& prediction : predictions) {
    const report::TrainingLength length = report::length_of(prediction, goal);
    CostQuestion question = model::goodput::data_parallel_question(network, machine, prediction,
                                                                   length.epochs * length.samples);
    question.beside_iterations = length.beside_iterations;
    options.apply(question);
    costs.push_back(model::goodput::training_cost(question));
  }
  return costs;
}

}  // namespace dlscale::app
