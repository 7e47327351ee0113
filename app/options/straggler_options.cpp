#include "app/options/straggler_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "core/base/error.hpp"

namespace dlscale::app {
namespace {

/// Reads "5%" or "5 %" as 0.05.
std::optional<double> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value / 100;
}

model::SpreadShape parse_shape(std::string_view text) {
  if (text.empty() || text == "log_normal") return model::SpreadShape::log_normal;
  if (text == "normal") return model::SpreadShape::normal;
  if (text == "exponential") return model::SpreadShape::exponential;
  throw ConfigError(
      fmt::format("--straggler-shape: no spread is called {}. Write normal, log_normal or "
                  "exponential.",
                  text));
}

}  // namespace

void StragglerOptions::declare(CLI::App& command) {
  command.add_option("--stragglers", deviation,
                     "How much the computing of ranks varies by itself in each iteration, standard "
                     "deviation over mean, such as 5%: adds what they wait for the slowest");
  command
      .add_option("--straggler-shape", shape,
                  "normal, log_normal (default) or exponential (a least time and a tail)")
      ->type_name("{normal,log_normal,exponential}");
}

void StragglerOptions::refuse_beside(const std::string& option) const {
  if (deviation.empty() && shape.empty()) return;
  throw ConfigError(fmt::format(
      "--stragglers has no effect beside {}, which tells of one rank. Leave out one of the two.",
      option));
}

model::RankSpread StragglerOptions::spread() const {
  model::RankSpread spread;
  if (deviation.empty() && shape.empty()) return spread;
  if (deviation.empty()) {
    throw ConfigError(
        "--straggler-shape needs --stragglers beside it: a shape alone is no spread. Write, for "
        "example, --stragglers 5%.");
  }
  spread.shape = parse_shape(shape);
  const double most = model::most_deviation(spread.shape);
  const std::optional<double> value = parse_percent(deviation);
  if (!value || !(*value >= 0 && *value <= most)) {
    throw ConfigError(
        fmt::format("--stragglers: {} is no standard deviation over the mean from 0 % to {:g} %, "
                    "above which times of that shape would be negative or all tail. Write, for "
                    "example, 5%.",
                    deviation, 100 * most));
  }
  spread.deviation = *value;
  return spread;
}

}  // namespace dlscale::app
