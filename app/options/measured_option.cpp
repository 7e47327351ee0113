#include "app/options/measured_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/quantity_units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "model/sgd_iter/measured_level_fit.hpp"
#include "model/sgd_iter/peak_share.hpp"

namespace dlscale::app {
namespace {

using namespace std::string_literals;

[[noreturn]] void refuse(const std::string& point, std::string_view why) {
  throw ConfigError(
      fmt::format("--measured: \"{}\" {}. Write the number of ranks, an equals sign, and what they "
                  "train together: \"8=21000/s\", or what an iteration takes: \"8=97.5 ms\".",
                  point, why));
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0)) return {};
  return value;
}

/// Refuses rates of other samples than those that the network trains on.
void expect_samples(const std::string& point, std::string_view text, std::string_view samples) {
  for (const std::string_view other : {"images", "sequences", "tokens"}) {
    if (other == samples || !text.ends_with(fmt::format("{}/s", other))) continue;
    throw ConfigError(
        fmt::format("--measured: \"{}\" counts {}, and the network trains on {}. Write {}/s.",
                    point, other, samples, samples));
  }
}

/// Samples a second, if the text ends as a rate does: "2750/s", "2750 images/s".
std::optional<double> rate_of(const std::string& point, std::string_view text,
                              std::string_view samples) {
  expect_samples(point, text, samples);
  for (const std::string& unit : {fmt::format("{}/s", samples), "samples/s"s, "/s"s}) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(unit.size());
    while (text.ends_with(' ')) text.remove_suffix(1);
    const auto rate = number<double>(text);
    if (!rate) refuse(point, "has a rate that is not a number above zero");
    return rate;
  }
  return {};
}

/// Ranks, and the batch of each where it is stated: "8", "8x256".
std::pair<int, std::optional<int>> layout_of(const std::string& point, std::string_view text) {
  const std::size_t sign = text.find('x');
  const auto ranks = number<int>(text.substr(0, sign));
  if (!ranks) refuse(point, "does not begin with a number of ranks, 1 or more");
  if (sign == std::string_view::npos) return {*ranks, {}};
  const auto batch = number<int>(text.substr(sign + 1));
  if (!batch) refuse(point, "has an x without the batch of a rank after it");
  return {*ranks, batch};
}

/// Whether a number has a unit of time behind it, or an "s" that may be one.
bool is_time(std::string_view text) {
  std::string_view unit = text.substr(text.find_last_of("0123456789.") + 1);  // npos + 1: 0
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (quantity::find_unit(quantity::time_dimension, quantity::our_name(unit)) != nullptr)
    return true;
  return text.ends_with('s') && !text.ends_with("/s");
}

/// Whether a text begins with a finite number above zero.
bool begins_above_zero(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && value > 0 && std::isfinite(value);
}

/// The iteration of so many samples by a rate or a time.
Seconds iteration_of(const std::string& point, std::string_view value, std::string_view samples,
                     double count) {
  const auto stated = rate_of(point, value, samples);
  if (!stated && !is_time(value)) refuse(point, "has neither \"/s\" nor a unit of time at its end");
  if (!stated && !begins_above_zero(value)) refuse(point, "has no time above zero");
  const double time = stated ? count / *stated : parse_quantity<Seconds>(value, "--measured").si();
  if (!(time > 0)) refuse(point, "has no time above zero");
  constexpr double least = 1e-6;
  constexpr double most = 1e12;
  const double rate = count / time;
  if (rate >= least && rate <= most) return Seconds(time);
  refuse(point, fmt::format("is outside of {:g} to {:g} samples a second", least, most));
}

}  // namespace

void MeasuredOption::declare(CLI::App& verb) {
  verb.add_option("--measured", points,
                  "What was measured of this training, such as 1=2750/s,8=21000/s")
      ->delimiter(',')
      ->type_name("RANKS=RATE/s");
}

std::vector<model::MeasuredPoint> MeasuredOption::read(
    std::string_view samples,
    const std::function<std::optional<int>(int ranks)>& usual_batch) const {
  std::vector<model::MeasuredPoint> read;
  for (const std::string& text : points) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos) refuse(text, "has no equals sign");
    const auto [ranks, stated] = layout_of(text, std::string_view(text).substr(0, sign));
    if (std::ranges::find(read, ranks, &model::MeasuredPoint::ranks) != read.end()) {
      refuse(text, "is the second point of as many ranks");
    }
    const std::optional<int> batch = stated ? stated : usual_batch(ranks);
    if (!batch) {
      throw ConfigError(fmt::format(
          "--measured: \"{}\" leaves open which of several batches was measured. Write it after "
          "the number of ranks, as in \"{}x32={}\".",
          text, ranks, text.substr(sign + 1)));
    }
    const double count = static_cast<double>(ranks) * *batch;
    const auto value = std::string_view(text).substr(sign + 1);
    read.push_back({ranks, *batch, iteration_of(text, value, samples, count)});
  }
  return read;
}

std::vector<MeasuredIteration> MeasuredOption::iterations(std::string_view samples, double count,
                                                          double tokens) const {
  constexpr std::string_view token_rate = "tokens/s";
  std::vector<MeasuredIteration> read;
  for (const std::string& text : points) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos) refuse(text, "has no equals sign");
    const auto [ranks, batch] = layout_of(text, std::string_view(text).substr(0, sign));
    if (batch) refuse(text, "states a batch, and --global-batch is that of all points");
    if (std::ranges::find(read, ranks, &MeasuredIteration::ranks) != read.end()) {
      refuse(text, "is the second point of as many ranks");
    }
    std::string value = text.substr(sign + 1);
    const bool counts_tokens = tokens > 0 && value.ends_with(token_rate);
    if (counts_tokens) value.replace(value.size() - token_rate.size(), token_rate.size(), "/s");
    read.push_back(
        {ranks, iteration_of(text, value, samples, counts_tokens ? count * tokens : count)});
  }
  return read;
}

model::MeasuredLevel MeasuredOption::level(const Network& network, const model::Machine& machine,
                                           const Run& run,
                                           const std::vector<model::MeasuredPoint>& points) {
  if (machine.fitted) {
    throw ConfigError(
        "--measured makes a prediction from data sheets sharper, and this machine was measured. "
        "Leave it out, or name a cluster instead of the machine.");
  }
  model::MeasuredLevel level = model::measured_level(network, machine, run, points);
  for (const model::MeasuredPoint& point : points) {
    Run there = run;
    there.ranks = point.ranks;
    expect_below_peak(network, machine, there, static_cast<double>(point.batch) * point.ranks,
                      point.iteration);
  }
  return level;
}

void MeasuredOption::expect_below_peak(const Network& network, const model::Machine& machine,
                                       const Run& run, double samples, Seconds measured) {
  const double share = model::least_peak_share(network, machine, run, samples, measured);
  if (share <= 1) return;
  throw ConfigError(
      fmt::format("--measured: {} on {} are {:.3g} times the peak of their data sheet. Check its "
                  "unit, batch, plan and precision.",
                  to_text(measured), counted(run.ranks, "rank"), share));
}

void MeasuredOption::expect_likely(int ranks, Seconds measured, Seconds predicted) {
  constexpr double most = 1e3;  // as model::measured_level() takes it
  if (measured <= most * predicted) return;
  throw ConfigError(fmt::format(
      "--measured: {} on {} are {:.2g} times the predicted {}, which no interval of it reaches. "
      "Check its unit, batch, plan and precision.",
      to_text(measured), counted(ranks, "rank"), measured / predicted, to_text(predicted)));
}

std::string MeasuredOption::words(const model::MeasuredLevel& level) {
  std::vector<int> ranks;
  for (const auto& point : level.rest) ranks.push_back(point.ranks);
  const int last = ranks.back();
  ranks.pop_back();
  if (ranks.empty()) return fmt::format("your point at {} GPU{}", last, last == 1 ? "" : "s");
  return fmt::format("your points at {} and {} GPUs", fmt::join(ranks, ", "), last);
}

std::string options_that_say_more(const std::string& measurable) {
  return (measurable.empty() ? "" : fmt::format("Sharper: --measured {}   ", measurable)) +
         "All assumptions: --notes";
}

}  // namespace dlscale::app
