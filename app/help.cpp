// dlscale help: what a verb takes, and what no verb's help says.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "app/command_tree.hpp"
#include "app/output.hpp"
#include "app/topics.hpp"
#include "app/verb.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"

namespace dlscale::app {
namespace {

std::string overview(CommandTree& tree) {
  std::string text = tree.root().help() + "\nTopics: dlscale help TOPIC\n";
  for (const Topic& topic : topics()) text += fmt::format("  {:<27} {}\n", topic.name, topic.doc);
  return text;
}

std::string answer(const std::string& topic) {
  CommandTree tree;
  if (topic.empty()) return overview(tree);
  for (const Topic& known : topics()) {
    if (known.name == topic) return known.text();
  }
  if (CLI::App* verb = tree.verb(topic); verb != nullptr) {
    tree.declare(*verb);
    return verb->help("dlscale");
  }
  std::vector<std::string> names;
  for (const Topic& known : topics()) names.emplace_back(known.name);
  for (const CLI::App* verb : commands_below(tree.root())) names.push_back(verb->get_name());
  throw ConfigError(
      fmt::format("\"{}\" is no topic and no verb. {}", topic, suggestion(topic, names)));
}

void declare_help(CLI::App& verb, ExitCode& result) {
  auto topic = std::make_shared<std::string>();
  verb.add_option("topic", *topic, "A topic that \"dlscale help\" lists, or a verb");
  verb.footer("Example: dlscale help exit-codes");
  verb.callback([topic, &result] {
    write_output("-", answer(*topic));
    result = ExitCode::ok;
  });
}

}  // namespace

extern const Verb help_verb{
    "help", "Explain exit codes, statistics, the environment, settings, or a verb", declare_help};

}  // namespace dlscale::app
