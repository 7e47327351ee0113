#include "app/config_show.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "app/command_tree.hpp"
#include "app/option_values.hpp"
#include "app/topics.hpp"
#include "backend/comm/launch.hpp"
#include "backend/compute/plan_cache.hpp"
#include "core/cluster.hpp"
#include "core/config_path.hpp"
#include "core/error.hpp"
#include "core/nccl_facts.hpp"
#include "core/suggest.hpp"
#include "report/figures.hpp"
#include "report/format/format.hpp"
#include "report/record_columns.hpp"

namespace dlscale::app {
namespace {

using Lookup = std::function<const char*(const char*)>;

/// Set, and not empty.
std::optional<std::string> value_of(const Lookup& variable, const std::string& name) {
  const char* value = variable(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

/// Options that name a file of a group of configurations.
struct ConfigOption {
  std::string_view option;
  std::string_view group;
};
constexpr std::array config_options{
    ConfigOption{"--network", "networks"}, ConfigOption{"--networks", "networks"},
    ConfigOption{"--cluster", "clusters"}, ConfigOption{"--device", "devices"},
    ConfigOption{"--suite", "suites"},     ConfigOption{"suite", "suites"},
    ConfigOption{"--system", "systems"},   ConfigOption{"--model", "models"},
};

/// The files that a list of names stands for; what is wrong with one the verb itself would say.
std::string files_of(std::string_view group, const std::string& value) {
  std::vector<std::string> files;
  for (const std::string& name : CLI::detail::split(value, ',')) {
    try {
      files.push_back(find_config(group, name).string());
    } catch (const ConfigError&) {
      continue;  // "local" and "all" are no files
    }
  }
  return fmt::format("{}", fmt::join(files, ", "));
}

/// Of "Cores of a worker (default: an even share)" what stands behind the colon.
std::string told_default(const std::string& doc) {
  constexpr std::string_view mark = "(default: ";
  const auto start = doc.rfind(mark);
  const auto end = doc.rfind(')');
  if (start == std::string::npos || end == std::string::npos || end < start) return {};
  return doc.substr(start + mark.size(), end - start - mark.size());
}

Setting setting_of(const CLI::Option& option, const Lookup& variable, const std::string& envname) {
  Setting setting{.name = option.get_name()};
  if (!takes_value(option)) {
    setting.value = option.count() > 0 ? "yes" : "no";
    setting.origin = option.count() > 0 ? Origin::command_line : Origin::default_value;
    return setting;
  }
  if (option.count() > 0) {
    setting.value = fmt::format("{}", fmt::join(option.results(), ","));
    setting.origin = Origin::command_line;
  } else if (const auto value = value_of(variable, envname); !envname.empty() && value) {
    setting.value = *value;
    setting.origin = Origin::environment;
    setting.detail = envname;
  } else if (!option.get_default_str().empty()) {
    setting.value = option.get_default_str();
    setting.origin = Origin::default_value;
  } else {
    setting.detail = option.get_required() ? "required" : told_default(option.get_description());
  }
  for (const ConfigOption& known : config_options) {
    if (known.option != setting.name || setting.value.empty()) continue;
    if (const std::string files = files_of(known.group, setting.value); !files.empty()) {
      setting.detail = files;
    }
  }
  return setting;
}

/// What a cluster's file decides where the command line does not.
void add_rule_of_cluster(std::vector<Setting>& settings) {
  const auto rule = std::ranges::find(settings, "--all-reduce", &Setting::name);
  const auto cluster = std::ranges::find(settings, "--cluster", &Setting::name);
  if (rule == settings.end() || rule->origin != Origin::not_set) return;
  if (cluster == settings.end() || cluster->value.empty() || cluster->value == "local") return;
  rule->value = all_reduce_rule_name(load_cluster(cluster->value).all_reduce);
  rule->origin = Origin::file;
  rule->detail = cluster->detail;
}

/// The verb, or command of a verb, that the words call, with their options read and nothing run.
class ReadCommand {
 public:
  explicit ReadCommand(const std::vector<std::string>& words) {
    CLI::App* verb = tree_.verb(words.front());
    if (verb == nullptr) {
      std::vector<std::string> names;
      for (const CLI::App* known : commands_below(tree_.root())) names.push_back(known->get_name());
      throw ConfigError(
          fmt::format("\"{}\" is no verb. {}", words.front(), suggestion(words.front(), names)));
    }
    tree_.declare(*verb);
    silence(*verb);
    // The verb's own callback stays where it is, for it owns what the options are read into; it is
    // not reached.
    verb->parse_complete_callback([] { throw OptionsRead(); });
    try {
      verb->parse(std::vector<std::string>(words.rbegin(), words.rend() - 1));
    } catch (const OptionsRead&) {
      // As it should be: nothing was run.
    } catch (const CLI::CallForHelp&) {
      throw ConfigError(
          fmt::format("--help asks for the help of the verb, not for its settings. Write \"dlscale "
                      "{} --help\".",
                      words.front()));
    } catch (const CLI::ParseError& error) {
      throw ConfigError(fmt::format("dlscale {} would refuse these options: {}. Mend them.",
                                    fmt::join(words, " "), error.what()));
    }
    path_ = words.front();
    command_ = verb;
    while (!command_->get_subcommands().empty()) {
      command_ = command_->get_subcommands().front();
      path_ += " " + command_->get_name();
    }
    if (const std::string twice = given_twice(*command_); !twice.empty()) throw ConfigError(twice);
  }

  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] std::vector<Setting> settings(const Lookup& variable) const {
    std::vector<Setting> found;
    for (const CLI::Option* option : command_->get_options({})) {
      if (option == command_->get_help_ptr()) continue;
      const auto known = variables_.find(option);
      found.push_back(
          setting_of(*option, variable, known == variables_.end() ? "" : known->second));
      if (required_.contains(option) && found.back().origin == Origin::not_set) {
        found.back().detail = "required";
      }
    }
    add_rule_of_cluster(found);
    return found;
  }

 private:
  /// Takes away what would run, what must be there, and the variables, so that what was read was
  /// read from the words.
  struct OptionsRead {};

  void silence(CLI::App& command) {
    command.require_subcommand(0);
    for (CLI::Option* option : command.get_options([](CLI::Option*) { return true; })) {
      if (option->get_required()) required_.insert(option);
      if (!option->get_envname().empty()) variables_[option] = option->get_envname();
      option->required(false);
      option->envname("");
    }
    for (CLI::App* below : commands_below(command)) silence(*below);
  }

  CommandTree tree_;
  CLI::App* command_ = nullptr;
  std::string path_;
  std::map<const CLI::Option*, std::string> variables_;
  std::set<const CLI::Option*> required_;
};

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
  const auto value = value_of(variable, own);
  if (value) return {name, *value, Origin::environment, own};
  return {name, usual, usual.empty() ? Origin::not_set : Origin::default_value, ""};
}

Setting plan_cache_setting(const Lookup& variable) {
  const auto folder = backend::plan_cache_folder();
  Setting setting{.name = "choices by trial on GPUs", .value = folder ? folder->string() : "off"};
  for (const char* name : {"DLSCALE_PLAN_CACHE", "XDG_CACHE_HOME", "HOME"}) {
    if (!value_of(variable, name)) continue;
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
  if (value_of(variable, "NO_COLOR")) {
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

void add_program(Settings& settings, const Lookup& variable) {
  std::vector<Setting>& program = settings.program;
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

/// A slip in a name changes nothing, and nobody would say so.
void add_unknown_variables(Settings& settings, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const Variable& variable : own_variables()) known.emplace_back(variable.name);
  for (const std::string& name : names) {
    const bool own = name.starts_with("DLSCALE_");
    if (!own || std::ranges::find(known, name) != known.end()) continue;
    settings.problems.push_back(
        fmt::format("{} is set, but the program reads no such variable, so that it changes "
                    "nothing. {}",
                    name, suggestion(name, known)));
  }
}

std::string_view origin_name(Origin origin) {
  switch (origin) {
    case Origin::command_line:
      return "command line";
    case Origin::environment:
      return "environment";
    case Origin::file:
      return "file";
    case Origin::default_value:
      return "default";
    case Origin::not_set:
      return "not set";
  }
  return "";
}

report::Table table_of(const std::string& title, const std::vector<Setting>& settings) {
  using report::Align;
  report::Table table;
  table.title = title;
  table.columns = {
      {"setting", Align::left}, {"value", Align::left}, {"from", Align::left}, {"", Align::left}};
  for (const Setting& setting : settings) {
    const bool chosen =
        setting.origin == Origin::command_line || setting.origin == Origin::environment;
    table.rows.push_back({{setting.name},
                          {setting.value, chosen ? report::Tone::good : report::Tone::plain},
                          {std::string(origin_name(setting.origin))},
                          {setting.detail}});
  }
  return table;
}

void add_records(report::Table& records, const std::string& of,
                 const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {
    records.rows.push_back({{of},
                            {setting.name},
                            {setting.value},
                            {std::string(origin_name(setting.origin))},
                            {setting.detail}});
  }
}

nlohmann::ordered_json json_of(const std::vector<Setting>& settings) {
  auto list = nlohmann::ordered_json::array();
  for (const Setting& setting : settings) {
    list.push_back({{"name", setting.name},
                    {"value", setting.value},
                    {"from", origin_name(setting.origin)},
                    {"detail", setting.detail}});
  }
  return list;
}

}  // namespace

Settings effective_settings(const std::vector<std::string>& words, const Lookup& variable,
                            const std::vector<std::string>& names) {
  Settings settings;
  if (!words.empty()) {
    const ReadCommand command(words);
    settings.command = command.path();
    settings.options = command.settings(variable);
  }
  add_program(settings, variable);
  add_unknown_variables(settings, names);
  return settings;
}

report::Document settings_document(const Settings& settings) {
  report::Document document;
  const std::string verb = "dlscale " + settings.command;
  if (!settings.command.empty()) document.tables.push_back(table_of(verb, settings.options));
  document.tables.push_back(table_of("Of the program", settings.program));
  document.tables.back().notes = settings.problems;
  report::add_columns(document.records.columns, report::Meaning::key, {"of", "setting"});
  report::add_columns(document.records.columns, report::Meaning::remark,
                      {"value", "from", "detail"});
  add_records(document.records, settings.command, settings.options);
  add_records(document.records, "program", settings.program);
  nlohmann::ordered_json json{{"schema", "dlscale.settings"}, {"version", 1}};
  json["command"] = settings.command;
  json["options"] = json_of(settings.options);
  json["program"] = json_of(settings.program);
  json["problems"] = settings.problems;
  document.json = json.dump(2);
  return document;
}

}  // namespace dlscale::app
