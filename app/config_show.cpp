#include "app/config_show.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "app/command_tree.hpp"
#include "app/option_values.hpp"
#include "app/program_settings.hpp"
#include "app/settings_in_effect.hpp"
#include "app/settings_line.hpp"
#include "app/settings_names.hpp"
#include "bench/benchmark.hpp"
#include "core/cluster.hpp"
#include "core/config_path.hpp"
#include "core/error.hpp"
#include "core/family.hpp"
#include "core/nccl_facts.hpp"
#include "core/suggest.hpp"
#include "report/format/text_width.hpp"
#include "report/record_columns.hpp"

namespace dlscale::app {
namespace {

using Lookup = VariableLookup;

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

/// As the words have it; nothing where they do not name it.
std::optional<std::string> typed_value(const CLI::Option& option) {
  if (option.count() == 0) return std::nullopt;
  if (takes_value(option)) return fmt::format("{}", fmt::join(option.results(), ","));
  return CLI::detail::to_flag_value(option.results().back()) > 0 ? "yes" : "no";
}

Origin origin_of(const SetElsewhere& elsewhere) {
  return elsewhere.from == SetElsewhere::From::environment ? Origin::environment : Origin::file;
}

/// What is in effect without the words; `envname` is the variable that the verb itself looks at.
void find_default(Setting& setting, const CLI::Option& option, const Lookup& variable,
                  const std::string& envname) {
  if (const auto value = value_of_variable(variable, envname); !value.empty()) {
    setting.value = value;
    setting.origin = Origin::environment;
    setting.detail = envname;
  } else if (!takes_value(option)) {
    setting.value = "no";
    setting.origin = Origin::default_value;
  } else if (!option.get_default_str().empty()) {
    setting.value = option.get_default_str();
    setting.origin = Origin::default_value;
  } else {
    setting.detail = option.get_required() ? "required" : told_default(option.get_description());
  }
}

void add_detail(Setting& setting, const std::string& more) {
  setting.detail += (setting.detail.empty() || more.empty() ? "" : "; ") + more;
}

/// `elsewhere` is null where the option is not set by variables or a settings file.
Setting setting_of(const CLI::Option& option, const Lookup& variable, const std::string& envname,
                   const SetElsewhere* elsewhere) {
  Setting setting{.name = option.get_name()};
  if (elsewhere != nullptr && elsewhere->obstacle.empty()) {
    setting.value = elsewhere->value;
    setting.origin = origin_of(*elsewhere);
    setting.detail = elsewhere->place;
  } else if (const auto typed = typed_value(option)) {
    setting.value = *typed;
    setting.origin = Origin::command_line;
  } else {
    find_default(setting, option, variable, envname);
    if (elsewhere != nullptr) {
      add_detail(setting,
                 fmt::format("{} does not count: it {}", elsewhere->place, elsewhere->obstacle));
    }
  }
  for (const ConfigOption& known : config_options) {
    if (known.option != setting.name || setting.value.empty()) continue;
    add_detail(setting, files_of(known.group, setting.value));
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
  rule->detail = files_of("clusters", cluster->value);
}

/// By somebody, not by the program itself.
bool is_chosen(Origin origin) {
  return origin != Origin::default_value && origin != Origin::not_set;
}

/// What a benchmark makes of settings that nobody chose, from those that somebody did.
void add_what_follows(std::string_view benchmark, std::vector<Setting>& settings) {
  const bench::Benchmark* found = family<bench::Benchmark>().find(benchmark);
  if (found == nullptr || found->settle == nullptr) return;
  std::map<std::string, Setting*> by_axis;
  std::map<std::string, std::string> values;
  std::set<std::string> chosen;
  for (const bench::Axis& axis : found->axes) {
    std::string name(axis.name);
    const auto setting = std::ranges::find(settings, bench::option_name(axis.name), &Setting::name);
    if (setting == settings.end()) continue;
    if (is_chosen(setting->origin)) chosen.insert(name);
    values[name] = setting->value;
    by_axis[std::move(name)] = &*setting;
  }
  found->settle(values, chosen);
  for (const auto& [axis, setting] : by_axis) {
    if (values[axis] == setting->value) continue;
    setting->value = values[axis];
    setting->detail = "by what else is set";
  }
}

/// The verb, or command of a verb, that the words call, with their options read and nothing run.
class ReadCommand {
 public:
  ReadCommand(const std::vector<std::string>& words, const SettingsSources& sources) {
    CLI::App* verb = tree_.verb(words.front());
    if (verb == nullptr) {
      std::vector<std::string> names;
      for (const CLI::App* known : commands_below(tree_.root())) names.push_back(known->get_name());
      throw ConfigError(
          fmt::format("\"{}\" is no verb. {}", words.front(), suggestion(words.front(), names)));
    }
    const auto declare = [this](CLI::App& command) { tree_.declare(command); };
    SettledLine line = settle_line(tree_.root(), declare, words, sources);
    elsewhere_ = std::move(line.set);
    silence(*verb);
    // The verb's own callback stays where it is, for it owns what the options are read into; it is
    // not reached.
    verb->parse_complete_callback([] { throw OptionsRead(); });
    try {
      verb->parse(std::vector<std::string>(line.words.rbegin(), line.words.rend() - 1));
    } catch (const OptionsRead&) {
      // As it should be: nothing was run.
    } catch (const CLI::CallForHelp&) {
      throw ConfigError(
          fmt::format("--help asks for the help of the verb, not for its settings. Write \"dlscale "
                      "{} --help\".",
                      words.front()));
    } catch (const CLI::ParseError& error) {
      throw ConfigError(fmt::format("dlscale {} would refuse these options: {}. Mend them.",
                                    fmt::join(words, " "), with_places(error.what(), elsewhere_)));
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
      found.push_back(setting_of(*option, variable, known == variables_.end() ? "" : known->second,
                                 set_elsewhere(*option)));
      if (required_.contains(option) && found.back().origin == Origin::not_set) {
        found.back().detail = "required";
      }
    }
    add_rule_of_cluster(found);
    if (path_.starts_with(bench_verb)) {
      add_what_follows(std::string_view(path_).substr(bench_verb.size()), found);
    }
    return found;
  }

 private:
  static constexpr std::string_view bench_verb = "bench ";

  /// Takes away what would run, what must be there, and the variables, so that what was read was
  /// read from the words.
  struct OptionsRead {};

  [[nodiscard]] const SetElsewhere* set_elsewhere(const CLI::Option& option) const {
    const auto found = std::ranges::find(elsewhere_, &option, &SetElsewhere::option);
    return found == elsewhere_.end() ? nullptr : &*found;
  }

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
  std::vector<SetElsewhere> elsewhere_;
  std::map<const CLI::Option*, std::string> variables_;
  std::set<const CLI::Option*> required_;
};

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

/// Columns of a value in a table, whose every row is as wide; records have the whole.
constexpr std::size_t widest_value = 200;

report::Table table_of(const std::string& title, const std::vector<Setting>& settings) {
  using report::Align;
  report::Table table;
  table.title = title;
  table.columns = {
      {"setting", Align::left}, {"value", Align::left}, {"from", Align::left}, {"", Align::left}};
  for (const Setting& setting : settings) {
    const report::Tone tone = is_chosen(setting.origin) ? report::Tone::good : report::Tone::plain;
    table.rows.push_back({{setting.name},
                          {report::format::shortened(setting.value, widest_value), tone},
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
  const SettingsSources sources = find_sources(variable);
  if (!words.empty()) {
    const ReadCommand command(words, sources);
    settings.command = command.path();
    settings.options = command.settings(variable);
  } else if (!sources.place.file.empty()) {
    CommandTree tree;
    tree.declare_all();
    SettingsFile(sources.place.file).check(tree.root());
  }
  add_program(settings, sources);
  add_idle_variables(settings, sources, names);
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
  document.json = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return document;
}

}  // namespace dlscale::app
