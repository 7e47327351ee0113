#include "app/cli/positive.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace dlscale::app {

namespace {

/// The problem with a number; empty if it is finite and above zero.
std::string why_not_positive(const std::string& text) {
  double value = 0;
  const bool number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
  if (number && value > 0) return {};
  return number ? fmt::format("{} is no number above 0. Write a larger one", text)
                : fmt::format("{} is no finite number above 0. Write such as 1", text);
}

}  // namespace

CLI::Validator positive() {
  return {why_not_positive, "POSITIVE"};
}

CLI::Validator positive_count() {
  const auto check = [](const std::string& text) -> std::string {
    int value = 0;
    std::string problem = why_not_positive(text);
    if (!problem.empty() || CLI::detail::lexical_cast(text, value)) return problem;
    return fmt::format("{} is no whole number up to {}. Write such as 2", text,
                       std::numeric_limits<int>::max());
  };
  return {check, "POSITIVE"};
}

CLI::Validator positive_seconds() {
  constexpr double most = 1e9;
  const auto check = [](const std::string& text) -> std::string {
    double value = 0;
    std::string problem = why_not_positive(text);
    if (!problem.empty() || (CLI::detail::lexical_cast(text, value) && value <= most)) {
      return problem;
    }
    return fmt::format(
        "{} is more than 1e9 seconds, which are thirty years. Write a smaller number", text);
  };
  return {check, "POSITIVE"};
}

CLI::Validator margin_fraction() {
  // CLI::Range accepts NaN, since no comparison puts it out of range.
  const auto check = [](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= 0 && value <= 10) return {};
    return fmt::format("{} is no fraction from 0 to 10. Write such as 0.02, which is 2 %", text);
  };
  return {check, "FLOAT in [0 - 10]"};
}

CLI::Validator seed() {
  const auto check = [](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return {};
    return fmt::format("{} is no whole number from 0 to 2^64 - 1. Write such as 1", text);
  };
  return {check, "SEED"};
}

}  // namespace dlscale::app
