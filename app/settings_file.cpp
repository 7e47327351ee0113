#include "app/settings_file.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
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

bool has_zero_byte(const std::string& item) {
  return item.find('\0') != std::string::npos;
}

/// Values as they are written.
std::vector<std::string> items_in(const ConfigMap& section, const std::string& key,
                                  const CLI::Option& option) {
  if (section.is_empty(key)) {
    throw ConfigError(
        fmt::format("{} has no value. Write one, or leave the key out.", section.where(key)));
  }
  if (!takes_value(option)) return {section.flag_or(key, false) ? "true" : "false"};
  std::vector<std::string> items = section.texts(key);
  if (items.empty()) section.refuse(key, "an empty one", "Write a value, or leave the key out.");
  if (std::ranges::find(items, "") != items.end()) {
    section.refuse(key, "an item of it is empty", "Write each value, or leave the item out.");
  }
  if (std::ranges::any_of(items, has_zero_byte)) {
    section.refuse(key, "with a zero byte, at which a word of a command line ends",
                   "Write it without.");
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

/// Throws ConfigError where a key is nothing that can be set of the command.
void refuse_others(const ConfigMap& section, CLI::App& command) {
  const std::vector<std::string> there = section.keys();
  const std::vector<std::string> known = keys_of(command);
  for (const CLI::Option* option : typed_only_options(command)) {
    const std::string key = key_of(*option);
    const bool is_verb = std::ranges::find(known, key) != known.end();  // help is both
    if (is_verb || std::ranges::find(there, key) == there.end()) continue;
    throw ConfigError(fmt::format("{} sets nothing: --{} can only be typed. Leave the key out.",
                                  section.where(key), key));
  }
  section.allow_only(std::vector<std::string_view>(known.begin(), known.end()));
}

/// Nothing where the command has no key, or nothing behind it.
std::optional<ConfigMap> section_below(const ConfigMap& section, const CLI::App& command) {
  const std::string& key = command.get_name();
  if (!section.has(key) || section.is_empty(key)) return std::nullopt;
  return section.map(key);
}

void check_section(const ConfigMap& section, CLI::App& command) {
  refuse_others(section, command);
  for (const CLI::Option* option : settable_options(command)) {
    if (section.has(key_of(*option)))
      static_cast<void>(items_in(section, key_of(*option), *option));
  }
  for (CLI::App* below : commands_below(command)) {
    if (const auto found = section_below(section, *below)) check_section(*found, *below);
  }
}

constexpr std::uintmax_t most_bytes = std::uintmax_t{64} << 10;

/// Far more than all options there are take; what is larger is another file, or no text at all, and
/// every call would read it. Places that are no files are refused where they are opened.
const fs::path& of_settings_size(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (error || bytes <= most_bytes) return file;
  throw ConfigError(fmt::format(
      "{} has {} bytes, and a settings file at most {}, for every call reads it. Check that it is "
      "the file that you mean, and keep long lists in files of their own.",
      file.string(), bytes, most_bytes));
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
    : file_(file.string()),
      root_(ConfigMap::load(of_settings_size(file), ConfigMap::Lines::named,
                            ConfigMap::Nothing::no_keys)) {}

void SettingsFile::check_verbs(CLI::App& root) const {
  refuse_others(root_, root);
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
  return above ? section_below(*above, command) : std::nullopt;
}

}  // namespace dlscale::app
