#include "app/cli/command_tree.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "app/cli/option_file.hpp"
#include "app/cli/option_values.hpp"
#include "app/cli/said_once.hpp"
#include "app/cli/usage.hpp"
#include "app/cli/verb.hpp"
#include "core/base/family.hpp"
#include "core/base/interrupt.hpp"
#include "core/system/build_info.hpp"

namespace dlscale::app {
namespace {

constexpr const char* program_doc =
    "How fast will data-parallel training run on N workers, what bounds it, what to change?";

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

}  // namespace

CommandTree::CommandTree() : root_(std::make_unique<CLI::App>(program_doc, "dlscale")) {
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
  refuse_empty_values(verb);
}

void CommandTree::declare_all() {
  for (CLI::App* verb : commands_below(*root_)) declare(*verb);
}

ExitCode CommandTree::run(const std::vector<std::string>& words) {
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
    say_for_all_ranks(usage_sentence(*root_, error));
    return ExitCode::bad_input;
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
