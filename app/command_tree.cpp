#include "app/command_tree.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "app/option_values.hpp"
#include "app/verb.hpp"
#include "core/build_info.hpp"
#include "core/family.hpp"

namespace dlscale::app {

void declare_program(CLI::App& program) {
  program.set_version_flag(
      "--version",
      [] {
        const BuildInfo build = build_info();
        return fmt::format("dlscale {} (commit {}{})", build.version, build.commit,
                           build.dirty ? ", with local changes" : "");
      },
      "Print the version and the commit it was built from, and exit");
}

CommandTree::CommandTree() : root_(std::make_unique<CLI::App>(program_doc, "dlscale")) {
  declare_program(*root_);
  for (const Verb* verb : family<Verb>().members) {
    root_->add_subcommand(std::string(verb->name), std::string(verb->doc));
  }
}

CommandTree::~CommandTree() = default;

CLI::App* CommandTree::verb(const std::string& name) {
  for (CLI::App* known : commands_below(*root_)) {
    if (known->get_name() == name) return known;
  }
  return nullptr;
}

void CommandTree::declare(CLI::App& verb) {
  const Verb* found = family<Verb>().find(verb.get_name());
  EXPECT(found != nullptr);
  if (!declared_.insert(&verb).second) return;
  found->declare(verb, ignored_);
  refuse_empty_values(verb);
}

void CommandTree::declare_all() {
  for (CLI::App* verb : commands_below(*root_)) declare(*verb);
}

std::vector<CLI::App*> commands_below(CLI::App& command) {
  return command.get_subcommands([](CLI::App*) { return true; });
}

std::string path_of(const CLI::App& command) {
  if (command.get_parent() == nullptr) return {};
  const std::string above = path_of(*command.get_parent());
  return above.empty() ? command.get_name() : above + " " + command.get_name();
}

std::vector<const CLI::Option*> named_options(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty();
  });
}

std::vector<const CLI::Option*> placed_options(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

bool takes_values(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

bool may_come_again(const CLI::Option& option) {
  return takes_values(option) ||
         option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

/// A set of words is told of as "TEXT:{cold,hot}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string kind = option.get_type_name();
  const std::size_t open = kind.find('{');
  const std::size_t close = kind.find('}', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(kind.substr(open + 1, close - open - 1), ',');
}

}  // namespace dlscale::app
