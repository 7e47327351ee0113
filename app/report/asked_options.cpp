#include "app/report/asked_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/shell_words.hpp"

namespace dlscale::app {

std::optional<AskedOptions> AskedOptions::of(const nlohmann::ordered_json& answer) {
  const auto options = answer.find("options");
  if (options == answer.end() || !options->is_object()) return std::nullopt;
  return AskedOptions(*options);
}

bool AskedOptions::has(std::string_view name) const {
  return options_.contains(std::string(name));
}

bool AskedOptions::sweeps(std::span<const std::string_view> names) const {
  return std::ranges::any_of(names, [this](std::string_view name) {
    const auto values = options_.find(std::string(name));
    if (values == options_.end()) return false;
    return std::ranges::any_of(*values, [](const auto& value) {
      const auto text = value.template get<std::string>();
      return text.find(',') != std::string::npos || text.find("..") != std::string::npos;
    });
  });
}

void AskedOptions::set(std::string_view name, const std::string& value) {
  options_[std::string(name)] = {value};
}

std::string AskedOptions::words(std::span<const std::string_view> names) const {
  std::string line;
  for (const auto& [name, values] : options_.items()) {
    if (std::ranges::find(names, name) == names.end()) continue;
    if (values.empty()) line += " --" + name;
    for (const auto& value : values) {
      line += fmt::format(" --{} {}", name, shell_word(value.get<std::string>()));
    }
  }
  return line;
}

}  // namespace dlscale::app
