#include "app/cli/command_tree.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/cli/foreign_words.hpp"
#include "app/cli/help_text.hpp"
#include "app/cli/option_file.hpp"
#include "app/cli/option_values.hpp"
#include "app/cli/rank0_error.hpp"
#include "app/cli/renamed.hpp"
#include "app/cli/verb.hpp"
#include "core/base/family.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/remedy.hpp"
#include "core/system/build_info.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/near_words.hpp"
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
      unknown, [](const std::string& word) { return word.size() > 1 && word.starts_with("-"); });
  if (first == unknown.end()) return {};
  const std::size_t sign = std::min(first->find('='), first->size());
  const std::string word = first->substr(0, sign);
  const bool has_next = sign == first->size() && first + 1 != unknown.end();
  const std::string value =
      has_next ? *(first + 1) : first->substr(std::min(sign + 1, first->size()));
  const std::string what =
      fmt::format("{} is not an option of {}.", escape_for_terminal(word), command.get_name());
  if (word == "--config") return what + " Write it before the verb.";
  if (const std::string ours = answer_to_foreign(command, word, value); !ours.empty()) {
    return fmt::format("{} {}", what, ours);
  }
  WordList names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const WordList near = near_words(word, names);
  return near.empty() ? what : fmt::format("{} Did you mean {}?", what, fmt::join(near, " or "));
}

/// A sentence that lists the subcommands if one is missing or misspelt.
std::string ask_for_subcommand(const CLI::App& command) {
  WordList names;
  for (const CLI::App* known : command.get_subcommands({})) names.push_back(known->get_name());
  const std::string what =
      command.get_parent() == nullptr ? "verb" : "kind of " + command.get_name();
  for (const std::string& word : command.remaining()) {
    if (word.starts_with('-')) continue;
    const std::string ours = answer_to_foreign_verb(command, word);
    return fmt::format("\"{}\" is not a {}. {}", word, what,
                       ours.empty() ? suggestion(word, names) : ours);
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

/// A sentence that names all required arguments that are missing, with what they stand for; empty
/// if there are none. The error names one, or those that the verb itself requires.
std::string missing_arguments(const CLI::App& command, const std::string& error) {
  const WordList named = CLI::detail::split(error.substr(0, error.find(" is required")), ',');
  WordList missing;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool is_named = std::ranges::find(named, name) != named.end();
    if (option->count() > 0 || !(is_named || option->get_required())) continue;
    missing.push_back(fmt::format("{} ({})", name, option->get_description()));
  }
  if (missing.empty()) return {};
  return fmt::format("{} missing: {}.", missing.size() == 1 ? "An argument is" : "Arguments are",
                     fmt::join(missing, ", "));
}

/// A sentence about an option that lacks its companion here, and by whose name other tools call
/// another one of ours: "--model" without --cases; empty for any other.
std::string foreign_companion(const CLI::App& command, const std::string& problem) {
  const std::size_t requires_at = problem.find(" requires ");
  const std::string name = problem.substr(0, requires_at);
  if (requires_at == std::string::npos || command.get_option_no_throw(name) == nullptr) return {};
  const std::string ours = answer_to_foreign(command, name, "");
  if (ours.empty()) return {};
  return fmt::format("{} needs {} beside it here. For what other tools call so: {}", name,
                     problem.substr(requires_at + std::string_view(" requires ").size()), ours);
}

/// CLI11's "--color: no not in {auto,always,never}" as a sentence; empty for any other message.
std::string not_among_words(const std::string& problem) {
  constexpr std::string_view sign = " not in {";
  const std::size_t colon = problem.find(": ");
  const std::size_t at = problem.rfind(sign);
  if (colon == std::string::npos || at == std::string::npos || at < colon + 2) return {};
  std::string list = problem.substr(at + sign.size());
  if (!list.ends_with('}')) return {};
  list.pop_back();
  const std::string value = problem.substr(colon + 2, at - colon - 2);
  return fmt::format("{}: \"{}\" is not one of its words. {}", problem.substr(0, colon),
                     escape_for_terminal(value), suggestion(value, CLI::detail::split(list, ',')));
}

/// CLI11's "--classes: Value 1.5 not in range 2 to 1000" as a sentence; empty for any other
/// message.
std::string not_in_range(const std::string& problem) {
  constexpr std::string_view value_sign = ": Value ";
  constexpr std::string_view range_sign = " not in range ";
  const std::size_t colon = problem.find(value_sign);
  const std::size_t at = problem.rfind(range_sign);
  if (colon == std::string::npos || at == std::string::npos || at < colon) return {};
  const std::size_t value = colon + value_sign.size();
  return fmt::format("{}: {} is not one of the numbers from {}. Write one of them.",
                     problem.substr(0, colon),
                     escape_for_terminal(problem.substr(value, at - value)),
                     problem.substr(at + range_sign.size()));
}

/// CLI11's message, except for a missing value and for values of the wrong kind of number.
/// Validators have already refused words and numbers that are not positive.
std::string in_our_words(std::string problem) {
  const std::size_t lack = problem.find(": 1 required ");
  if (lack != std::string::npos && problem.ends_with(" missing")) {
    return fmt::format("{}: the value is missing. Write one behind it, or leave the option out.",
                       problem.substr(0, lack));
  }
  for (const auto& in_words : {not_among_words, not_in_range}) {
    if (std::string ours = in_words(problem); !ours.empty()) return ours;
  }
  for (const auto& [theirs, ours] :
       {std::pair(" excludes ", "{} and {} exclude each other. Leave one out."),
        std::pair(" requires ", "{} needs {} beside it. Add that, or leave the first out.")}) {
    const std::size_t at = problem.find(theirs);
    if (at == std::string::npos || problem.substr(0, at).find(' ') != std::string::npos) continue;
    return fmt::format(fmt::runtime(ours), problem.substr(0, at),
                       problem.substr(at + std::string_view(theirs).size()));
  }
  constexpr std::string_view conversion = "Could not convert: ";
  if (problem.starts_with(conversion)) {
    return fmt::format(
        "{} is not a number that this option takes. Write a whole number in digits, at most "
        "2147483647, for example 1000000.",
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
  if (std::string unknown = not_an_option(command); !unknown.empty()) return unknown;
  if (std::string other = foreign_companion(command, error.what()); !other.empty()) return other;
  if (error.get_name() == "RequiredError") {
    if (std::string missing = missing_arguments(command, error.what()); !missing.empty())
      return missing;
  }
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    const std::string_view said = error.what();
    return fmt::format("\"{}\" has no place in {}. Write the option that it belongs to before it.",
                       escape_for_terminal(said.substr(said.find(": ") + 2)), path_of(command));
  }
  return with_place(program, command, in_our_words(error.what()));
}

std::string usage_sentence(const CLI::App& program, const CLI::ParseError& error) {
  const std::string path = path_of(called_command(program));
  return fmt::format("{} See \"dlscale {}{}--help\".", problem_of(program, error), path,
                     path.empty() ? "" : " ");
}

/// An error in the words of the command line. It may begin with a setting ("cycle is 0 s"), of
/// which the user typed the option. A word that the user typed as a value ("-o rounds") is none.
std::string in_typed_words(const CLI::App& command, const std::string& problem) {
  const std::string setting = problem.substr(0, problem.find(' '));
  std::string name = setting == "callers" ? "server-clients" : setting;
  std::ranges::replace(name, '_', '-');
  const auto is_value = [&](const CLI::Option* option) {
    return std::ranges::count(option->results(), setting) > 0;
  };
  if (std::ranges::any_of(command.parse_order(), is_value)) return problem;
  for (const CLI::Option* option : command.parse_order()) {
    if (option->check_lname(name)) return "--" + name + problem.substr(setting.size());
  }
  return problem;
}

constexpr const char* program_doc =
    "Predicts, measures and regression-tracks distributed deep-learning training:\n"
    "how fast it runs on N workers, what bounds it, what to change, and whether a\n"
    "new version is slower than the last.";

constexpr const char* program_footer =
    "Exit codes: 0 all is well; 1 a regression, or a validation that failed; 2 bad input; 3 too "
    "little is known to judge; 4 a crash or a wrong result; 5 nothing was measured, or nothing "
    "matches; 6 not in this build or on this machine; 130, 143 ended by a signal.\n"
    "Example: dlscale predict --network resnet50 --cluster p40x16 --ranks 1,2,4";

std::string version() {
  const BuildInfo build = build_info();
  return fmt::format("dlscale {} (commit {}{})", build.version, build.commit,
                     build.dirty ? ", with local changes" : "");
}

/// The reason why a file cannot be read; CLI11 would report it in a sentence of its own.
std::string why_not_readable(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    return fmt::format("{} is a folder. Name a file", file);
  }
  if (std::ifstream(file).good()) return {};
  return fmt::format("{} cannot be read ({}). Check the path", file, std::strerror(errno));
}

/// Splits "--network=" in two, since CLI11 would take the next word for its value. The empty value
/// is then refused as any other is. Words behind "--" and flags of Google Benchmark stay.
WordList with_empty_values(const WordList& words) {
  WordList split;
  const auto end = std::ranges::find(words, "--");
  for (auto word = words.begin(); word != words.end(); ++word) {
    const bool is_option = word->starts_with("-") && !word->starts_with("--benchmark_");
    if (word < end && is_option && word->find('=') == word->size() - 1) {
      split.push_back(word->substr(0, word->size() - 1));
      split.emplace_back();
    } else {
      split.push_back(*word);
    }
  }
  return split;
}

/// "--store=~/perf" with the home folder, as shells write it for "--store ~/perf" alone.
WordList with_home(WordList words) {
  const char* const home = std::getenv("HOME");
  if (home == nullptr) return words;
  const auto end = std::ranges::find(words, "--");
  for (auto word = words.begin(); word != end; ++word) {
    const std::size_t sign = word->find('=');
    if (!word->starts_with("--") || sign == std::string::npos) continue;
    const std::string value = word->substr(sign + 1);
    if (value == "~" || value.starts_with("~/")) word->replace(sign + 1, 1, home);
  }
  return words;
}

}  // namespace

CommandTree::CommandTree() : root_(std::make_unique<CLI::App>(program_doc, "dlscale")) {
  root_->formatter(help_format());  // before the commands, which inherit it
  root_->require_subcommand(1);
  root_->failure_message(CLI::FailureMessage::simple);
  root_->set_version_flag("--version", version,
                          "Print the version and the commit it was built from, and exit");
  root_->set_config("--config", "",
                    "File of options, in TOML: a section for each command ([gate], [bench.gemm]), "
                    "and below it their long names. What is typed comes first");
  root_->config_formatter(option_file(*root_, [this] { declare_all(); }));
  refuse_empty_values(*root_);
  root_->get_config_ptr()->type_name("FILE")->check(CLI::Validator(why_not_readable, ""));
  for (const Verb* verb : family<Verb>().members) {
    root_->add_subcommand(std::string(verb->name), std::string(verb->doc));
  }
  root_->footer(program_footer);  // before the commands, which inherit it
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
  found->declare(verb, result_);
  offer_advanced_help(verb);
  refuse_empty_values(verb);
  read_whole_numbers_in_base_10(verb);
}

void CommandTree::declare_all() {
  for (CLI::App* verb : commands_below(*root_)) declare(*verb);
}

ExitCode CommandTree::run(const std::vector<std::string>& typed) {
  const WordList words = CurrentNames().words(with_home(with_empty_values(typed)));
  for (CLI::App* verb : commands_below(*root_)) {
    verb->preparse_callback([this, verb, &words](std::size_t) {
      declare(*verb);
      refuse_empty_items(*verb, words);
      const Verb* found = family<Verb>().find(verb->get_name());
      if (found->signals == Verb::Signals::are_remembered) install_signal_handlers();
    });
  }
  try {
    root_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      root_->exit(error);
      return ExitCode::ok;
    }
    print_on_rank0(usage_sentence(*root_, error));
    return ExitCode::bad_input;
  } catch (const RemediableError& error) {
    throw RemediableError(in_typed_words(called_command(*root_), error.what()), error.remedies);
  } catch (const ConfigError& error) {
    throw ConfigError(in_typed_words(called_command(*root_), error.what()));
  }
  return result_;
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
  return option.get_items_expected_max() > 1 ||
         option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

/// CLI11 describes a set of words as "TEXT:{cold,hot}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string kind = option.get_type_name();
  const std::size_t open = kind.find('{');
  const std::size_t close = kind.find('}', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(kind.substr(open + 1, close - open - 1), ',');
}

}  // namespace dlscale::app
