#include "app/program_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "app/command_tree.hpp"
#include "app/settings_names.hpp"
#include "app/topics.hpp"
#include "backend/comm/launch.hpp"
#include "backend/compute/plan_cache.hpp"
#include "core/config_path.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include "report/figures.hpp"
#include "report/format/format.hpp"

namespace dlscale::app {
namespace {

using Lookup = VariableLookup;

/// A folder that a variable names, or that is found without.
Setting folder_setting(const std::string& name, const std::string& own, const Lookup& variable,
                       const std::function<std::string()>& find,
                       std::vector<std::string>& problems) {
  Setting setting{.name = name};
  const bool set = variable(own.c_str()) != nullptr;
  setting.origin = set ? Origin::environment : Origin::default_value;
  setting.detail = set ? own : "";
  try {
    setting.value = find();
  } catch (const Error& error) {
    setting.origin = Origin::not_set;
    problems.emplace_back(error.what());
  }
  return setting;
}

Setting variable_setting(const std::string& name, const std::string& own, const Lookup& variable,
                         const std::string& usual) {
  const std::string value = value_of_variable(variable, own);
  if (!value.empty()) return {name, value, Origin::environment, own};
  return {name, usual, usual.empty() ? Origin::not_set : Origin::default_value, ""};
}

Setting plan_cache_setting(const Lookup& variable) {
  const auto folder = backend::plan_cache_folder();
  Setting setting{.name = "choices by trial on GPUs", .value = folder ? folder->string() : "off"};
  for (const char* name : {"DLSCALE_PLAN_CACHE", "XDG_CACHE_HOME", "HOME"}) {
    if (value_of_variable(variable, name).empty()) continue;
    setting.origin = Origin::environment;
    setting.detail = name;
    return setting;
  }
  setting.origin = Origin::default_value;
  return setting;
}

Setting colour_setting(const Lookup& variable) {
  using report::format::Colour;
  const auto terminal = report::format::detect_terminal(STDOUT_FILENO);
  Setting setting{.name = "colours",
                  .value = terminal.colour == Colour::ansi ? "yes" : "no",
                  .origin = Origin::environment};
  if (!value_of_variable(variable, "NO_COLOR").empty()) {
    setting.detail = "NO_COLOR";
  } else if (isatty(STDOUT_FILENO) != 1) {
    setting.origin = Origin::default_value;
    setting.detail = "standard output is no terminal";
  } else {
    setting.detail = "TERM";
  }
  return setting;
}

Setting launch_setting(const Lookup& variable) {
  const auto launch = backend::detect_launch(variable);
  Setting setting{.name = "launcher", .value = "none", .origin = Origin::default_value};
  if (!launch) return setting;
  setting.value = launch->size > 0 ? fmt::format("{}, {} ranks", launch->launcher, launch->size)
                                   : launch->launcher;
  setting.origin = Origin::environment;
  setting.detail = launch->variable;
  return setting;
}

Setting settings_file_setting(const SettingsPlace& place) {
  using By = SettingsPlace::By;
  Setting setting{.name = "settings file", .value = place.file.string()};
  setting.origin = Origin::default_value;
  switch (place.by) {
    case By::off:
      setting.value = "off";
      [[fallthrough]];
    case By::variable:
      setting.origin = Origin::environment;
      setting.detail = settings_variable;
      break;
    case By::working_folder:
      setting.detail = "of the working folder";
      break;
    case By::user:
      setting.detail = "of the user";
      break;
    case By::none:
      setting.value = "none";
      std::vector<std::string> missing;
      for (const auto& file : place.missing) missing.push_back(file.string());
      setting.detail = fmt::format("not there: {}", fmt::join(missing, ", "));
      break;
  }
  return setting;
}

using OptionsOf = std::vector<const CLI::Option*> (*)(const CLI::App&);

/// The variables of options of the command and of those below it, and how they are typed.
std::map<std::string, std::string> variables_of(CLI::App& command, OptionsOf options) {
  std::map<std::string, std::string> variables;
  for (const CLI::Option* option : options(command)) {
    variables.emplace(variable_of(command, *option), "--" + key_of(*option));
  }
  for (CLI::App* below : commands_below(command)) variables.merge(variables_of(*below, options));
  return variables;
}

/// Of some hundreds only one is worth a mention.
std::string nearest_text(const std::string& name, const std::set<std::string>& known) {
  const std::vector<std::string> words(known.begin(), known.end());
  const std::string nearest = nearest_first(name, words).front();
  if (edit_distance(name, nearest) <= 3) return fmt::format("Did you mean \"{}\"?", nearest);
  return "See dlscale help environment.";
}

}  // namespace

void add_program(Settings& settings, const SettingsSources& sources) {
  const Lookup& variable = sources.variable;
  std::vector<Setting>& program = settings.program;
  program.push_back(settings_file_setting(sources.place));
  program.push_back(folder_setting(
      "configurations", "DLSCALE_CONFIGS", variable, [] { return config_root().string(); },
      settings.problems));
  program.push_back(folder_setting(
      "scripts of figures", "DLSCALE_PLOTS", variable, [] { return report::plots_root().string(); },
      settings.problems));
  program.push_back(plan_cache_setting(variable));
  program.push_back(variable_setting("history", "DLSCALE_HISTORY", variable, "history"));
  program.push_back(launch_setting(variable));
  program.push_back(variable_setting("rendezvous", "DLSCALE_RENDEZVOUS", variable, ""));
  program.push_back(variable_setting("rank", "DLSCALE_RANK", variable, ""));
  program.push_back(variable_setting("ranks", "DLSCALE_WORLD", variable, ""));
  program.push_back(
      variable_setting("seconds to wait for ranks", "DLSCALE_RENDEZVOUS_TIMEOUT", variable, "120"));
  program.push_back(variable_setting("kind of cluster", "DLSCALE_CLUSTER", variable, ""));
  program.push_back(colour_setting(variable));
}

void add_idle_variables(Settings& settings, const SettingsSources& sources,
                        const std::vector<std::string>& names) {
  std::set<std::string> known;
  for (const Variable& variable : own_variables()) known.emplace(variable.name);
  std::vector<std::string> others;
  for (const std::string& name : names) {
    if (name.starts_with("DLSCALE_") && !known.contains(name)) others.push_back(name);
  }
  if (others.empty()) return;
  CommandTree tree;
  tree.declare_all();
  const std::map<std::string, std::string> settable = variables_of(tree.root(), settable_options);
  const std::map<std::string, std::string> typed = variables_of(tree.root(), typed_only_options);
  for (const auto& [name, option] : settable) known.insert(name);
  for (const std::string& name : others) {
    std::string why = "the program reads no such variable";
    std::string advice = nearest_text(name, known);
    if (settable.contains(name)) {
      if (sources.place.by != SettingsPlace::By::off) continue;
      why = fmt::format("{} is off", settings_variable);
      advice = "";
    } else if (const auto found = typed.find(name); found != typed.end()) {
      why = fmt::format("{} can only be typed", found->second);
      advice = "Unset it.";
    }
    settings.problems.push_back(fmt::format("{} is set, but {}, so that it changes nothing.{}{}",
                                            name, why, advice.empty() ? "" : " ", advice));
  }
}

}  // namespace dlscale::app
