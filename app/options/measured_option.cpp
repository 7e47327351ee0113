#include "app/options/measured_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::app {
namespace {

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

/// Samples a second, if it is a rate: "2750/s", "2750 images/s".
std::optional<double> rate_of(std::string_view text) {
  for (const std::string_view unit : {"images/s", "sequences/s", "samples/s", "/s"}) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(unit.size());
    while (text.ends_with(' ')) text.remove_suffix(1);
    return number<double>(text);
  }
  return {};
}

model::MeasuredPoint point_of(const std::string& text, int batch) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos) refuse(text, "has no equals sign");
  const auto ranks = number<int>(std::string_view(text).substr(0, sign));
  if (!ranks) refuse(text, "does not begin with a number of ranks");
  const std::string_view value = std::string_view(text).substr(sign + 1);
  if (const auto rate = rate_of(value)) {
    return {*ranks, Seconds(static_cast<double>(*ranks) * batch / *rate)};
  }
  if (value.ends_with("/s")) refuse(text, "has no rate above zero");
  const auto time = parse_quantity<Seconds>(value, "--measured");
  if (time <= Seconds()) refuse(text, "has no time above zero");
  return {*ranks, time};
}

}  // namespace

void MeasuredOption::declare(CLI::App& verb) {
  verb.add_option("--measured", points,
                  "What was measured of this training: \"1=2750/s\", several as in "
                  "\"1=2750/s,8=21000/s\"")
      ->delimiter(',')
      ->type_name("RANKS=RATE/s");
}

void MeasuredOption::add_to(model::Machine& machine, const std::vector<int>& batches) const {
  if (!is_given()) return;
  if (machine.fitted) {
    throw ConfigError(
        "--measured makes a prediction from data sheets sharper, and this machine was measured. "
        "Leave it out, or name a cluster instead of the machine.");
  }
  if (batches.size() != 1 || batches.front() < 1) {
    throw ConfigError(
        "--measured tells of one batch of a rank, and several are asked for. Name one.");
  }
  for (const std::string& text : points) {
    const model::MeasuredPoint point = point_of(text, batches.front());
    if (std::ranges::find(machine.points, point.ranks, &model::MeasuredPoint::ranks) !=
        machine.points.end()) {
      refuse(text, "is the second point of as many ranks");
    }
    machine.points.push_back(point);
  }
}

std::string MeasuredOption::words(const model::Machine& machine) {
  std::vector<int> ranks;
  for (const model::MeasuredPoint& point : machine.points) ranks.push_back(point.ranks);
  return fmt::format("your point{} at {} GPU{}", ranks.size() == 1 ? "" : "s",
                     fmt::join(ranks, " and "), ranks.size() == 1 && ranks.front() == 1 ? "" : "s");
}

}  // namespace dlscale::app
