// The program: finds the verb, runs it, turns every error into one sentence and an exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command_tree.hpp"
#include "app/hidden.hpp"
#include "app/option_values.hpp"
#include "app/output.hpp"
#include "app/said_once.hpp"
#include "app/settings_in_effect.hpp"
#include "app/settings_line.hpp"
#include "app/verb.hpp"
#include "core/error.hpp"
#include "core/family.hpp"
#include "core/interrupt.hpp"
#include "core/own_command.hpp"
#include "core/suggest.hpp"

namespace {

using namespace dlscale;

ExitCode fail(ExitCode code, const char* message) {
  fmt::print(stderr, "dlscale: {}\n", app::with_places(message));
  return code;
}

ExitCode fail_without_memory() {
  app::say_out_of_memory();
  return ExitCode::wrong_result;
}

/// A subcommand was wanted and not named, or named wrongly: says which there are.
std::string ask_for_subcommand(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* known : command.get_subcommands({})) names.push_back(known->get_name());
  const std::string what =
      command.get_parent() == nullptr ? "verb" : "kind of " + command.get_name();
  for (const std::string& word : command.remaining()) {
    if (word.starts_with('-')) continue;
    return fmt::format("\"{}\" is no {}. {}", word, what, suggestion(word, names));
  }
  const std::string unknown = app::not_an_option(command);
  if (!unknown.empty()) return unknown;
  return fmt::format("A {} is missing. Allowed: {}.", what, fmt::join(names, ", "));
}

/// Words for what the library of options says of values that are no number of the kind wanted; the
/// checks of options have refused words and numbers that are not positive.
std::string in_our_words(const std::string& problem) {
  constexpr std::string_view conversion = "Could not convert: ";
  if (!problem.starts_with(conversion)) return fmt::format("{}.", problem);
  return fmt::format(
      "{} is no number that this option takes. Write a whole one in digits, such as 1000000, of at "
      "most 2147483647.",
      problem.substr(conversion.size()));
}

/// The sentence for a usage error. `command` is the verb, or kind of a verb, that it is of.
std::string usage_sentence(const CLI::App& command, const CLI::ParseError& error) {
  const bool lacks_subcommand =
      command.get_require_subcommand_min() > 0 && command.get_subcommands().empty();
  if (lacks_subcommand) return ask_for_subcommand(command);
  const std::string twice = app::given_twice(command);
  if (!twice.empty()) return twice;
  const std::string unknown = app::not_an_option(command);
  return unknown.empty() ? in_our_words(error.what()) : unknown;
}

/// Help goes to standard output; a usage error is one sentence and the way to more.
ExitCode finish_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    app.exit(error);
    return ExitCode::ok;
  }
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  app::say_for_all_ranks(fmt::format("{} See \"dlscale --help\" or \"dlscale VERB --help\".",
                                     app::with_places(usage_sentence(*command, error))));
  return ExitCode::bad_input;
}

using Words = std::vector<std::string>;

/// The verbs, as the library of options has them.
class Program {
 public:
  Program() : app_(app::program_doc, "dlscale") {
    app_.require_subcommand(1);
    app_.failure_message(CLI::FailureMessage::simple);
    app::declare_program(app_);
    for (const app::Verb* verb : family<app::Verb>().members) {
      CLI::App* command = app_.add_subcommand(std::string(verb->name), std::string(verb->doc));
      command->preparse_callback([this, command](std::size_t) { declare(*command); });
    }
  }

  ExitCode run(const Words& typed) {
    const auto refused = app::refusal([&] { words_ = settled(typed); });
    if (refused) return *refused;
    try {
      app_.parse(Words(words_.rbegin(), words_.rend()));
    } catch (const CLI::ParseError& error) {
      return finish_parse(app_, error);
    }
    return result_;
  }

 private:
  /// Its options once it is the verb: to declare those of all takes longer than most answers.
  void declare(CLI::App& command) {
    if (!declared_.insert(&command).second) return;
    const app::Verb* verb = family<app::Verb>().find(command.get_name());
    EXPECT(verb != nullptr);
    verb->declare(command, result_);
    app::refuse_empty_values(command);
    if (verb->signals == app::Verb::Signals::are_remembered) install_signal_handlers();
  }

  /// With what variables and a settings file add to it.
  Words settled(const Words& typed) {
    const auto declare_verb = [this](CLI::App& verb) { declare(verb); };
    const app::SettledLine line =
        app::settle_line(app_, declare_verb, typed, app::find_sources(std::getenv));
    app::set_in_effect(line.set);
    for (const CLI::App* verb : declared_) app::refuse_empty_items(*verb, line.words);
    if (line.words != typed) {
      const Words started = own_command();
      Words whole{started.empty() ? app_.get_name() : started.front()};
      whole.insert(whole.end(), line.words.begin(), line.words.end());
      set_own_command(std::move(whole));
    }
    return line.words;
  }

  CLI::App app_;
  ExitCode result_ = ExitCode::ok;
  std::set<const CLI::App*> declared_;
  Words words_;
};

ExitCode run(int argc, char** argv) {
  own_program();  // where it lies now
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  if (const auto answered = app::answer_hidden(arguments)) return *answered;
  Program program;
  return program.run(Words(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end()));
}

/// An answer that did not arrive is none. A run that failed has said so already.
ExitCode check_output(ExitCode code) {
  const bool answered =
      code == ExitCode::ok || code == ExitCode::regression || code == ExitCode::inconclusive;
  if (answered) app::check_standard_output();
  return code;
}

/// For places that nobody looked at before they were used.
std::string path_sentence(const std::filesystem::filesystem_error& error) {
  return fmt::format(
      "{} cannot be used ({}). Check the path, and what you may read and write there.",
      error.path1().string(), error.code().message());
}

ExitCode run_and_tell(int argc, char** argv) {
  try {
    return check_output(run(argc, argv));
  } catch (const Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(ExitCode::bad_input, path_sentence(error).c_str());
  } catch (const std::bad_alloc&) {
    return fail_without_memory();
  } catch (const std::length_error&) {
    app::say_too_large();
    return ExitCode::wrong_result;
  } catch (const std::exception& error) {
    // fmt throws an error of the system when a full buffer cannot be written.
    return std::ferror(stdout) != 0 ? fail(ExitCode::bad_input, app::lost_output)
                                    : fail(ExitCode::wrong_result, error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return static_cast<int>(run_and_tell(argc, argv));
  } catch (const std::bad_alloc&) {  // of a sentence on something else
    return static_cast<int>(fail_without_memory());
  }
}
