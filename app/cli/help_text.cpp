#include "app/cli/help_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>

#include "app/cli/command_tree.hpp"
#include "core/base/display_width.hpp"

namespace dlscale::app {
namespace {

constexpr std::size_t help_columns = 100;
constexpr std::size_t text_column = 28;  ///< where the descriptions begin
constexpr std::size_t widest_choices = 24;
constexpr const char* rest = "Options";  ///< CLI11's name of the group of all other options

bool is_advanced(std::string_view group) {
  return group.starts_with("Advanced");
}

bool has_advanced_options(const CLI::App& command) {
  return std::ranges::any_of(command.get_groups(), is_advanced);
}

/// The kind of the value, from CLI11's "INT:POSITIVE" or "TEXT:{auto,always,never}".
std::string kind_of(const CLI::Option& option) {
  if (!takes_value(option)) return {};
  const std::vector<std::string> choices = choices_of(option);
  if (!choices.empty()) {
    std::string words = fmt::format("{{{}}}", fmt::join(choices, ","));
    return words.size() <= widest_choices ? words : "WORD";
  }
  return CLI::detail::split(option.get_type_name(), ':').front();
}

/// The default without the brackets that CLI11 puts around a list.
std::string default_of(const CLI::Option& option) {
  std::string text = takes_value(option) ? option.get_default_str() : "";
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  constexpr std::size_t longest_word = 60;
  return text.size() <= longest_word ? text : CLI::detail::find_and_replace(text, ",", ", ");
}

std::string description_of(const CLI::Option& option) {
  std::string text = option.get_description();
  const std::vector<std::string> choices = choices_of(option);
  if (takes_value(option) && !choices.empty() && kind_of(option) == "WORD") {
    text.insert(std::min(text.find(" (default"), text.size()),
                fmt::format(": {}", fmt::join(choices, ", ")));
  }
  const std::string usual = default_of(option);
  if (!usual.empty() && text.find("(default") == std::string::npos) {
    text += fmt::format(" (default: {})", usual);
  }
  if (option.get_required()) text += " (required)";
  if (!option.get_envname().empty()) {
    text += fmt::format(" (environment: {})", option.get_envname());
  }
  return text;
}

/// A name and its description in two columns.
std::string entry(const std::string& name, const std::string& text) {
  std::string line = "  " + name;
  if (text.empty()) return line + "\n";
  if (line.size() + 2 > text_column) line += "\n";
  const std::size_t used = line.ends_with('\n') ? 0 : line.size();
  line.append(text_column - used, ' ');
  return line + wrapped(text, help_columns - text_column, text_column) + "\n";
}

std::string option_entry(const CLI::Option& option) {
  const bool is_place = option.get_positional();
  const std::string kind = kind_of(option);
  return entry(option.get_name(is_place, !is_place) + (kind.empty() ? "" : " " + kind),
               description_of(option));
}

class HelpFormat : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* command, std::string name,
                        CLI::AppFormatMode mode) const override {
    const bool all = mode == CLI::AppFormatMode::All;
    std::string text = wrapped(make_description(command), help_columns, 0);
    text += make_usage(command, std::move(name));
    text += section("Positionals", placed_options(*command));
    for (const std::string& group : groups_of(*command, all)) {
      text += section(group, options_in(*command, group));
    }
    text += commands(*command);
    constexpr std::size_t indent = 4;
    return text + "\n" + wrapped(make_footer(command), help_columns - indent, indent);
  }

 private:
  /// The groups in the order of their first options; "Options" and the advanced ones come last.
  static std::vector<std::string> groups_of(const CLI::App& command, bool all) {
    std::vector<std::string> groups = command.get_groups();
    std::erase_if(groups, [all](const std::string& group) {
      return group.empty() || (is_advanced(group) && !all);
    });
    std::ranges::stable_partition(
        groups, [](const std::string& group) { return group != rest && !is_advanced(group); });
    return groups;
  }

  static std::vector<const CLI::Option*> options_in(const CLI::App& command,
                                                    const std::string& group) {
    return command.get_options([&group](const CLI::Option* option) {
      return option->get_group() == group && option->nonpositional();
    });
  }

  static std::string section(const std::string& heading,
                             const std::vector<const CLI::Option*>& options) {
    if (options.empty()) return {};
    std::string text = fmt::format("\n{}:\n", heading);
    for (const CLI::Option* option : options) text += option_entry(*option);
    return text;
  }

  static std::string commands(const CLI::App& command) {
    std::string text;
    for (const CLI::App* below : command.get_subcommands({})) {
      text += entry(below->get_name(), below->get_description());
    }
    return text.empty() ? text : "\nSubcommands:\n" + text;
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_format() {
  return std::make_shared<HelpFormat>();
}

void group_options(CLI::App& command, std::initializer_list<OptionGroup> groups) {
  for (const OptionGroup& group : groups) {
    for (const char* name : group.options) command.get_option(name)->group(group.name);
  }
}

void offer_advanced_help(CLI::App& command) {
  if (has_advanced_options(command)) {
    command.set_help_all_flag("--help-all", "Print this help with all options, and exit");
  }
  for (CLI::App* below : commands_below(command)) offer_advanced_help(*below);
}

}  // namespace dlscale::app
