#include "app/complete.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "app/command_tree.hpp"
#include "app/command_walk.hpp"
#include "app/complete_values.hpp"
#include "app/half_typed.hpp"

namespace dlscale::app {
namespace {

/// Reads a half-typed line up to its last word, for which it offers what may stand there.
class Completer {
 public:
  explicit Completer(CommandTree& tree) : tree_(&tree), walk_(begin(tree)) {}

  /// A word that is complete.
  void take(const std::string& word) {
    const Role role = walk_.role_of(word);
    if (role == Role::dashes && begins_command_line()) return start_again();
    if (role == Role::place && begins_command_line()) start_again();
    walk_.take(word);
  }

  /// What may stand in place of the last one.
  [[nodiscard]] Completions offer(const std::string& last) {
    const CLI::Option* open = walk_.open();
    if (walk_.wants_value()) return values(*open, last);
    if (!walk_.only_places() && last.starts_with('-')) {
      const std::size_t equals = last.find('=');
      if (equals == std::string::npos) return names(last);
      const CLI::Option* option = walk_.find_option(last.substr(0, equals));
      if (option == nullptr || !takes_value(*option)) return {};
      return values(*option, last.substr(equals + 1), last.substr(0, equals + 1));
    }
    if (walk_.takes_value()) return values(*open, last);
    CLI::App& command = walk_.command();
    const bool only_names = commands_below(command).empty() && walk_.place() == nullptr &&
                            !command.get_prefix_command();
    if (only_names && last.empty() && !walk_.only_places()) return names("-");
    return commands_and_places(last);
  }

 private:
  using Role = CommandWalk::Role;

  static CommandWalk begin(CommandTree& tree) {
    return {tree.root(), [&tree](CLI::App& verb) { tree.declare(verb); }};
  }

  void start_again() { walk_ = begin(*tree_); }

  /// Whether words without names are a command line of the program within this one.
  [[nodiscard]] bool begins_command_line() const {
    const CLI::Option* option = walk_.place();
    if (option == nullptr) return walk_.is_at_prefix();
    return takes_command_line(*option, path_of(walk_.command()));
  }

  /// What the words so far say.
  [[nodiscard]] Typed typed() const {
    Typed typed;
    typed.command = path_of(walk_.command());
    for (const auto& [option, value] : walk_.given()) {
      for (const std::string& name : names_of(*option)) typed.given[name] = value;
      if (!option->nonpositional()) typed.given[option->get_name()] = value;
    }
    return typed;
  }

  /// The values that an option was given which may come again.
  [[nodiscard]] std::set<std::string> said(const CLI::Option& of) const {
    std::set<std::string> values;
    for (const auto& [option, value] : walk_.given()) {
      if (option == &of && may_come_again(of)) values.insert(value);
    }
    return values;
  }

  /// Of options that are not there yet, or that may be there several times.
  [[nodiscard]] Completions names(const std::string& beginning) const {
    Completions found;
    for (const CLI::Option* option : named_options(walk_.command())) {
      if (walk_.has_named(*option) && !may_come_again(*option)) continue;
      for (const std::string& name : names_of(*option)) {
        if (name.starts_with(beginning)) {
          found.candidates.push_back({name, option->get_description()});
        }
      }
    }
    return found;
  }

  [[nodiscard]] Completions commands_and_places(const std::string& last) {
    if (begins_command_line()) {
      start_again();
      return offer(last);
    }
    Completions found;
    if (!walk_.only_places()) {
      for (const CLI::App* below : commands_below(walk_.command())) {
        if (!below->get_name().starts_with(last)) continue;
        found.candidates.push_back({below->get_name(), below->get_description()});
      }
    }
    const CLI::Option* option = walk_.place();
    if (option == nullptr) return found;
    Completions more = values(*option, last);
    std::ranges::move(more.candidates, std::back_inserter(found.candidates));
    found.paths = more.paths;
    return found;
  }

  /// Values that go on as `last` begins, each after `before`.
  [[nodiscard]] Completions values(const CLI::Option& option, const std::string& last,
                                   const std::string& before = {}) const {
    OptionValues known = values_of(option, typed());
    const std::size_t comma = known.list ? last.rfind(',') : std::string::npos;
    const std::string done = comma == std::string::npos ? "" : last.substr(0, comma + 1);
    const std::string begun = last.substr(done.size());
    std::set<std::string> there = said(option);
    for (const std::string& word : CLI::detail::split(done, ',')) there.insert(word);
    Completions found;
    for (Candidate& candidate : known.words) {
      if (!candidate.word.starts_with(begun) || there.contains(candidate.word)) continue;
      candidate.word = before + done + candidate.word;
      found.candidates.push_back(std::move(candidate));
    }
    if (done.empty()) found.paths = known.paths;
    return found;
  }

  CommandTree* tree_;
  CommandWalk walk_;
};

/// The first sentence of a help text, on one line.
std::string in_short(const std::string& doc) {
  std::string text = doc;
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  const std::size_t end = std::min(text.find(". "), text.find("; "));
  return end == std::string::npos ? text : text.substr(0, end);
}

}  // namespace

Completions complete(std::string_view line) {
  const HalfTyped typed = read_half_typed(line);
  if (typed.words.empty()) return {};
  CommandTree tree;
  Completer completer(tree);
  for (std::size_t i = 1; i < typed.words.size(); ++i) completer.take(typed.words[i]);
  return completer.offer(typed.last);
}

std::string completion_text(const Completions& completions, std::string_view shell,
                            std::size_t apart) {
  std::string text;
  const bool alone = shell == "bash";
  for (const Candidate& candidate : completions.candidates) {
    const std::string word = candidate.word.substr(std::min(apart, candidate.word.size()));
    if (word.empty()) continue;
    text += word;
    if (!alone && !candidate.doc.empty()) text += "\t" + in_short(candidate.doc);
    text += '\n';
  }
  if (completions.paths == Paths::files) text += ":files\n";
  if (completions.paths == Paths::folders) text += ":folders\n";
  return text;
}

std::size_t taken_apart(std::string_view line, std::string_view breaks) {
  return read_half_typed(line).last.find_last_of(breaks) + 1;  // npos + 1 is 0
}

}  // namespace dlscale::app
