// dlscale config: which settings are in effect, and where each comes from.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/config_show.hpp"
#include "app/document_output.hpp"
#include "app/verb.hpp"
#include "core/error.hpp"

namespace dlscale::app {
namespace {

std::vector<std::string> names_of_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

void declare_show(CLI::App& verb, ExitCode& result) {
  CLI::App* command = verb.add_subcommand(
      "show", "Say what a command line would go by, and where each value comes from");
  auto output = std::make_shared<DocumentOutput>();
  output->declare(*command);
  command->prefix_command();  // from the verb on, all words are its own
  command->footer(
      "What stands after the verb are its own words; nothing of it runs. Options of this command "
      "stand before it.\n"
      "Example: dlscale config show\n"
      "dlscale config show predict --network alexnet --cluster p40x16");
  command->callback([command, output, &result] {
    const auto variable = [](const char* name) -> const char* { return std::getenv(name); };
    output->write(settings_document(
        effective_settings(command->remaining(), variable, names_of_variables())));
    result = ExitCode::ok;
  });
}

void declare_config(CLI::App& verb, ExitCode& result) {
  verb.require_subcommand(1);
  declare_show(verb, result);
}

}  // namespace

extern const Verb config_verb{"config", "Show which settings are in effect, and why",
                              declare_config};

}  // namespace dlscale::app
