#include "app/cli/option_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <istream>
#include <set>
#include <utility>
#include <vector>

#include "app/cli/command_tree.hpp"
#include "app/cli/option_values.hpp"
#include "app/cli/renamed.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::app {
namespace {

using Names = std::vector<std::string>;

[[noreturn]] void refuse(const std::string& what) {
  throw CLI::ConfigError("--config: " + what);
}

void use_current_names(CurrentNames& names, CLI::ConfigItem& item) {
  item.parents.front() = names.name("", item.parents.front());
  item.name = names.name(item.parents.front(), item.name);
  for (std::string& input : item.inputs) input = names.value("--" + item.name, input);
}

CLI::App& command_of(CLI::App& program, const CLI::ConfigItem& item) {
  CLI::App* command = &program;
  for (const std::string& word : item.parents) {
    Names known;
    for (const CLI::App* below : commands_below(*command)) known.push_back(below->get_name());
    if (std::ranges::find(known, word) == known.end()) {
      refuse(fmt::format("the section [{}] is not a command. {}",
                         escape_for_terminal(fmt::format("{}", fmt::join(item.parents, "."))),
                         suggestion(word, known)));
    }
    command = command->get_subcommand(word);
  }
  return *command;
}

/// The option that a key names, by its long name or its positional name.
const CLI::Option& option_of(const CLI::App& command, const CLI::ConfigItem& item) {
  Names known;
  for (const CLI::Option* option : command.get_options(
           [](const auto* it) { return it->get_configurable() && !it->get_group().empty(); })) {
    Names own = option->get_lnames();
    if (option->get_positional()) own.push_back(option->get_name());
    if (std::ranges::find(own, item.name) != own.end()) return *option;
    known.insert(known.end(), own.begin(), own.end());
  }
  refuse(fmt::format("{} is not an option of {}. {}", escape_for_terminal(item.fullname()),
                     command.get_name(), suggestion(item.name, known)));
}

void check_values(const CLI::Option& option, const CLI::ConfigItem& item) {
  const std::string key = escape_for_terminal(item.fullname());
  if (!takes_value(option)) {
    const bool is_flag = item.inputs == Names{"true"} || item.inputs == Names{"false"};
    if (!is_flag) refuse(fmt::format("{} is there or not. Write true or false", key));
    return;
  }
  if (item.inputs.size() > 1 && !takes_values(option)) {
    refuse(
        fmt::format("{} has {} values, and {} takes one. Write a list that is one value in "
                    "quotes, such as \"1,2\"",
                    key, item.inputs.size(), option.get_name()));
  }
  for (const std::string& input : item.inputs) refuse_empty_item(option, input);
}

class OptionFile : public CLI::ConfigTOML {
 public:
  OptionFile(CLI::App& program, std::function<void()> declare_all)
      : program_(&program), declare_all_(std::move(declare_all)) {}

  [[nodiscard]] std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    declare_all_();
    std::vector<CLI::ConfigItem> read = CLI::ConfigTOML::from_config(input);
    std::set<std::string> there;
    CurrentNames names;
    for (CLI::ConfigItem& item : read) {
      if (!item.parents.empty()) use_current_names(names, item);
      const CLI::App& command = command_of(*program_, item);
      if (is_mark(item)) continue;
      check_values(option_of(command, item), item);
      if (there.insert(item.fullname()).second) continue;
      refuse(fmt::format("{} stands there twice. Write it once",
                         escape_for_terminal(item.fullname())));
    }
    std::erase_if(read, is_mark);
    return read;
  }

 private:
  /// Whether the item marks the start or end of a section.
  static bool is_mark(const CLI::ConfigItem& item) {
    return item.inputs.empty() && (item.name == "++" || item.name == "--");
  }

  CLI::App* program_;
  std::function<void()> declare_all_;
};

}  // namespace

std::shared_ptr<CLI::Config> option_file(CLI::App& program, std::function<void()> declare_all) {
  return std::make_shared<OptionFile>(program, std::move(declare_all));
}

std::map<std::string, std::string> settings_of(const CLI::App& command) {
  static const std::set<std::string> places{"--output", "--data", "--trace", "--profile"};
  std::map<std::string, std::string> settings{{"the command", command.get_name()}};
  for (const CLI::Option* option : command.get_options({})) {
    const std::string name = option->get_name();
    if (option == command.get_help_ptr() || name == "--cores-per-rank") continue;
    std::string& value = settings[name];
    value = option->count() == 0 ? option->get_default_str()
                                 : fmt::format("{}", fmt::join(option->results(), ","));
    if (places.contains(name)) value = value.empty() ? "not given" : "given";
  }
  settings["flags of Google Benchmark"] = fmt::format("{}", fmt::join(command.remaining(), " "));
  return settings;
}

}  // namespace dlscale::app
