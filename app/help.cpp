// dlscale help: prints the arguments of the program or of a verb.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/command_tree.hpp"
#include "app/cli/verb.hpp"
#include "core/base/error.hpp"
#include "core/system/output.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::app {
namespace {

std::string help_of(const std::string& name) {
  CommandTree tree;
  if (name.empty()) return tree.root().help();
  if (CLI::App* verb = tree.verb(name); verb != nullptr) {
    tree.declare(*verb);
    return verb->help("dlscale");
  }
  std::vector<std::string> names;
  for (const CLI::App* verb : commands_below(tree.root())) names.push_back(verb->get_name());
  throw ConfigError(fmt::format("\"{}\" is not a verb. {}", name, suggestion(name, names)));
}

void declare_help(CLI::App& verb, ExitCode& result) {
  auto name = std::make_shared<std::string>();
  verb.add_option("verb", *name, "A verb; without one, the verbs and exit codes are shown");
  verb.footer("Example: dlscale help predict");
  verb.callback([name, &result] {
    write_output("-", help_of(*name));
    result = ExitCode::ok;
  });
}

}  // namespace

extern const Verb help_verb{"help", "Print the help of a verb", declare_help};

}  // namespace dlscale::app
