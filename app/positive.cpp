#include "app/positive.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

namespace dlscale::app {

CLI::Validator positive() {
  const auto check = [](const std::string& text) -> std::string {
    double value = 0;
    const bool number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
    if (number && value > 0) return {};
    return fmt::format("{} is no number above 0. Write a larger one", text);
  };
  return {check, "POSITIVE"};
}

}  // namespace dlscale::app
