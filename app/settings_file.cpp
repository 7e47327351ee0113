#include "app/settings_file.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <system_error>

#include "app/command_tree.hpp"
#include "app/settings_names.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

/// By the XDG base directory specification, which has relative paths ignored; empty where neither
/// variable is set.
fs::path user_settings(const VariableLookup& variable) {
  const fs::path own = fs::path("dlscale") / "settings.yaml";
  const fs::path xdg = value_of_variable(variable, "XDG_CONFIG_HOME");
  if (xdg.is_absolute()) return xdg / own;
  const fs::path home = value_of_variable(variable, "HOME");
  return home.empty() ? fs::path() : home / ".config" / own;
}

/// A place that cannot be looked into has none.
bool is_there(const fs::path& file) {
  std::error_code error;
  return !file.empty() && fs::exists(file, error) && !error;
}

/// Whether a list can stand for a value: several words, or one of text with commas in it.
bool may_be_list(const CLI::Option& option) {
  return may_come_again(option) || option.get_delimiter() != '\0' ||
         option.get_type_name().starts_with("TEXT");
}

/// Values as they are written.
std::vector<std::string> items_in(const ConfigMap& section, const std::string& key,
                                  const CLI::Option& option) {
  if (!takes_value(option)) return {section.flag_or(key, false) ? "true" : "false"};
  std::vector<std::string> items = section.texts(key);
  if (items.empty()) section.refuse(key, "an empty one", "Write a value, or leave the key out.");
  if (std::ranges::find(items, "") != items.end()) {
    section.refuse(key, "an item of it is empty", "Write each value, or leave the item out.");
  }
  if (items.size() > 1 && !may_be_list(option)) {
    section.refuse(key, fmt::format("of {} values, and {} takes one", items.size(), "--" + key),
                   "Write a single value.");
  }
  return items;
}

std::vector<std::string> keys_of(CLI::App& command) {
  std::vector<std::string> keys;
  for (const CLI::App* below : commands_below(command)) keys.push_back(below->get_name());
  for (const CLI::Option* option : settable_options(command)) keys.push_back(key_of(*option));
  return keys;
}

void allow_only(const ConfigMap& section, const std::vector<std::string>& keys) {
  const std::vector<std::string_view> known(keys.begin(), keys.end());
  section.allow_only(known);
}

void check_section(const ConfigMap& section, CLI::App& command) {
  allow_only(section, keys_of(command));
  for (const CLI::Option* option : settable_options(command)) {
    if (section.has(key_of(*option)))
      static_cast<void>(items_in(section, key_of(*option), *option));
  }
  for (CLI::App* below : commands_below(command)) {
    if (section.has(below->get_name())) check_section(section.map(below->get_name()), *below);
  }
}

}  // namespace

std::string value_of_variable(const VariableLookup& variable, const std::string& name) {
  const char* value = variable(name.c_str());
  return value == nullptr ? "" : value;
}

SettingsPlace find_settings(const VariableLookup& variable) {
  using By = SettingsPlace::By;
  const std::string named = value_of_variable(variable, settings_variable);
  if (named == "off") return {.by = By::off};
  if (!named.empty()) return {.by = By::variable, .file = named};
  SettingsPlace place;
  const fs::path here = "dlscale.yaml";
  if (is_there(here)) return {.by = By::working_folder, .file = here};
  place.missing.push_back(here);
  const fs::path own = user_settings(variable);
  if (is_there(own)) return {.by = By::user, .file = own, .missing = place.missing};
  if (!own.empty()) place.missing.push_back(own);
  return place;
}

SettingsFile::SettingsFile(const fs::path& file)
    : file_(file.string()), root_(ConfigMap::load(file, ConfigMap::Lines::named)) {}

void SettingsFile::check_verbs(CLI::App& root) const {
  allow_only(root_, keys_of(root));
}

void SettingsFile::check(CLI::App& command) const {
  if (const std::optional<ConfigMap> own = section(command)) check_section(*own, command);
}

std::optional<SettingsFile::Value> SettingsFile::find(const CLI::App& command,
                                                      const CLI::Option& option) const {
  const std::optional<ConfigMap> own = section(command);
  const std::string key = key_of(option);
  if (!own || !own->has(key)) return std::nullopt;
  return Value{.items = items_in(*own, key, option),
               .place = fmt::format("{}:{}", file_, own->line(key))};
}

std::optional<ConfigMap> SettingsFile::section(const CLI::App& command) const {
  if (command.get_parent() == nullptr) return root_;
  const std::optional<ConfigMap> above = section(*command.get_parent());
  if (!above || !above->has(command.get_name())) return std::nullopt;
  return above->map(command.get_name());
}

}  // namespace dlscale::app
