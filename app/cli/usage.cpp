#include "app/cli/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "app/cli/command_tree.hpp"
#include "core/text/shown_text.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::app {
namespace {

using WordList = std::vector<std::string>;

/// The deepest command that the words named.
const CLI::App& called_command(const CLI::App& program) {
  const CLI::App* command = &program;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

/// A sentence about the first word that the command does not know, with a suggestion ("Did you mean
/// --ranks?"); empty if there is none.
std::string not_an_option(const CLI::App& command) {
  const WordList unknown = command.remaining();
  const auto first = std::ranges::find_if(
      unknown, [](const std::string& word) { return word.size() > 2 && word.starts_with("--"); });
  if (first == unknown.end()) return {};
  const std::string word = first->substr(0, first->find('='));
  const std::string what =
      fmt::format("{} is no option of {}.", shown_text(word), command.get_name());
  if (word == "--config") return what + " Write it before the verb.";
  WordList names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const WordList nearest = nearest_first(word, names);
  const bool near = !nearest.empty() && edit_distance(nearest.front(), word) <= 2;
  return near ? fmt::format("{} Did you mean {}?", what, nearest.front()) : what;
}

/// A sentence that lists the subcommands if one is missing or misspelt.
std::string ask_for_subcommand(const CLI::App& command) {
  WordList names;
  for (const CLI::App* known : command.get_subcommands({})) names.push_back(known->get_name());
  const std::string what =
      command.get_parent() == nullptr ? "verb" : "kind of " + command.get_name();
  for (const std::string& word : command.remaining()) {
    if (word.starts_with('-')) continue;
    return fmt::format("\"{}\" is no {}. {}", word, what, suggestion(word, names));
  }
  const std::string unknown = not_an_option(command);
  if (!unknown.empty()) return unknown;
  return fmt::format("A {} is missing. Allowed: {}.", what, fmt::join(names, ", "));
}

/// A sentence about an option with one value that was given several times; empty if there is none.
std::string given_twice(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const bool one = option->get_items_expected_max() == 1 &&
                     option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
    if (!one || option->count() < 2) continue;
    return fmt::format(
        "{} is given {} times. Give it once; where it takes several values, write them with commas "
        "between them.",
        option->get_name(), option->count());
  }
  return {};
}

/// CLI11's message, except for values of the wrong kind of number. Validators have already refused
/// words and numbers that are not positive.
std::string in_our_words(std::string problem) {
  constexpr std::string_view conversion = "Could not convert: ";
  if (problem.starts_with(conversion)) {
    return fmt::format(
        "{} is no number that this option takes. Write a whole one in digits, such as 1000000, of "
        "at most 2147483647.",
        problem.substr(conversion.size()));
  }
  return problem.ends_with('.') ? problem : problem + ".";
}

/// Names the file if only --config gives the faulty option: "--rounds (in FILE): …".
std::string with_place(const CLI::App& program, const CLI::App& command, std::string problem) {
  const std::size_t colon = problem.find(": ");
  const std::string name = problem.substr(0, colon);
  const auto is_it = [&](const CLI::Option* option) { return option->get_name() == name; };
  const CLI::Option& file = *program.get_config_ptr();
  const bool is_typed = is_it(&file) || std::ranges::any_of(command.parse_order(), is_it);
  if (file.count() == 0 || colon == std::string::npos || is_typed) return problem;
  return problem.insert(colon, fmt::format(" (in {})", file.results().front()));
}

std::string problem_of(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = called_command(program);
  if (error.get_name() == "ConfigError") return in_our_words(error.what());
  const bool lacks_subcommand =
      command.get_require_subcommand_min() > 0 && command.get_subcommands().empty();
  if (lacks_subcommand) return ask_for_subcommand(command);
  for (const CLI::App* it : {&program, &command}) {
    if (std::string twice = given_twice(*it); !twice.empty()) return twice;
  }
  std::string unknown = not_an_option(command);
  return unknown.empty() ? with_place(program, command, in_our_words(error.what())) : unknown;
}

}  // namespace

std::string usage_sentence(const CLI::App& program, const CLI::ParseError& error) {
  return fmt::format("{} See \"dlscale --help\" or \"dlscale VERB --help\".",
                     problem_of(program, error));
}

}  // namespace dlscale::app
