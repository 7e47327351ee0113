#include "app/complete.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "app/command_tree.hpp"
#include "app/complete_values.hpp"
#include "app/half_typed.hpp"

namespace dlscale::app {
namespace {

bool is_name(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

/// "--network=alex" is an option and the beginning of its value.
std::string_view name_in(std::string_view word) {
  return word.starts_with("--") ? word.substr(0, word.find('=')) : word;
}

/// Follows a command line word by word, as the library of options would read it.
class Walk {
 public:
  explicit Walk(CommandTree& tree) : tree_(&tree), command_(&tree.root()) {}

  /// A word that is complete.
  void take(const std::string& word) {
    if (is_value(word)) return take_value(word);
    open_ = nullptr;
    if (word == "--") return take_dashes();
    if (!only_places_ && is_name(word)) return take_name(word);
    if (CLI::App* below = only_places_ ? nullptr : find_below(word)) return enter(*below);
    take_place(word);
  }

  /// What may stand in place of the last one.
  [[nodiscard]] Completions offer(const std::string& last) {
    if (open_ != nullptr && taken_ < open_->get_items_expected_min()) return values(*open_, last);
    if (!only_places_ && last.starts_with('-')) {
      const std::size_t equals = last.find('=');
      if (equals == std::string::npos) return names(last);
      const CLI::Option* option = find_option(last.substr(0, equals));
      if (option == nullptr || !takes_value(*option)) return {};
      return values(*option, last.substr(equals + 1), last.substr(0, equals + 1));
    }
    if (open_ != nullptr && taken_ < open_->get_items_expected_max()) return values(*open_, last);
    const bool only_names =
        commands_below(*command_).empty() && place() == nullptr && !command_->get_prefix_command();
    if (last.empty() && only_names && !only_places_) return names("-");
    return commands_and_places(last);
  }

 private:
  [[nodiscard]] const CLI::Option* find_option(std::string_view name) const {
    for (const CLI::Option* option : named_options(*command_)) {
      const std::vector<std::string> all = names_of(*option);
      if (std::ranges::find(all, name) != all.end()) return option;
    }
    return nullptr;
  }

  [[nodiscard]] CLI::App* find_below(const std::string& word) const {
    for (CLI::App* below : commands_below(*command_)) {
      if (below->get_name() == word) return below;
    }
    return nullptr;
  }

  /// The place that the next word without a name goes to, or null.
  [[nodiscard]] const CLI::Option* place() const {
    int left = places_;
    for (const CLI::Option* option : placed_options(*command_)) {
      left -= option->get_items_expected_max();
      if (left < 0) return option;
    }
    return nullptr;
  }

  [[nodiscard]] bool is_value(const std::string& word) const {
    if (open_ == nullptr) return false;
    if (taken_ < open_->get_items_expected_min()) return true;
    return taken_ < open_->get_items_expected_max() && !word.starts_with('-') &&
           find_below(word) == nullptr;
  }

  void remember(const CLI::Option& option, const std::string& value) {
    for (const std::string& name : names_of(option)) typed_.given[name] = value;
    if (may_come_again(option)) said_[&option].insert(value);
    if (!option.nonpositional()) typed_.given[option.get_name()] = value;
  }

  void take_value(const std::string& word) {
    remember(*open_, word);
    ++taken_;
  }

  void take_name(const std::string& word) {
    const CLI::Option* option = find_option(name_in(word));
    // "-ofile" is -o and its value.
    if (option == nullptr && !word.starts_with("--")) option = find_option(word.substr(0, 2));
    if (option == nullptr) return;
    named_.insert(option);
    if (!takes_value(*option)) return remember(*option, "");
    const std::size_t equals = word.find('=');
    const bool long_name = word.starts_with("--");
    if (long_name && equals != std::string::npos) {
      return remember(*option, word.substr(equals + 1));
    }
    if (!long_name && word.size() > 2) return remember(*option, word.substr(2));
    open_ = option;
    taken_ = 0;
  }

  void take_dashes() {
    if (begins_command_line()) return start_again();
    only_places_ = true;
  }

  void take_place(const std::string& word) {
    if (begins_command_line()) {
      start_again();
      return take(word);
    }
    if (const CLI::Option* option = place(); option != nullptr) remember(*option, word);
    ++places_;
  }

  /// Whether words without names are a command line of the program within this one.
  [[nodiscard]] bool begins_command_line() const {
    const CLI::Option* option = place();
    return option == nullptr ? command_->get_prefix_command()
                             : takes_command_line(*option, typed_.command);
  }

  void start_again() { *this = Walk(*tree_); }

  void enter(CLI::App& below) {
    if (command_ == &tree_->root()) tree_->declare(below);
    command_ = &below;
    typed_.command = path_of(below);
    places_ = 0;
  }

  /// Of options that are not there yet, or that may be there several times.
  [[nodiscard]] Completions names(const std::string& beginning) const {
    Completions found;
    for (const CLI::Option* option : named_options(*command_)) {
      if (named_.contains(option) && !may_come_again(*option)) continue;
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
    if (!only_places_) {
      for (const CLI::App* below : commands_below(*command_)) {
        if (!below->get_name().starts_with(last)) continue;
        found.candidates.push_back({below->get_name(), below->get_description()});
      }
    }
    const CLI::Option* option = place();
    if (option == nullptr) return found;
    Completions more = values(*option, last);
    std::ranges::move(more.candidates, std::back_inserter(found.candidates));
    found.paths = more.paths;
    return found;
  }

  /// Values that go on as `last` begins, each after `before`.
  [[nodiscard]] Completions values(const CLI::Option& option, const std::string& last,
                                   const std::string& before = {}) const {
    OptionValues known = values_of(option, typed_);
    const std::size_t comma = known.list ? last.rfind(',') : std::string::npos;
    const std::string done = comma == std::string::npos ? "" : last.substr(0, comma + 1);
    const std::string begun = last.substr(done.size());
    std::set<std::string> there;
    if (const auto said = said_.find(&option); said != said_.end()) there = said->second;
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
  CLI::App* command_;
  const CLI::Option* open_ = nullptr;  ///< whose values come now
  int taken_ = 0;                      ///< of them
  int places_ = 0;                     ///< words without names so far
  bool only_places_ = false;           ///< after --
  std::set<const CLI::Option*> named_;
  Typed typed_;
  std::map<const CLI::Option*, std::set<std::string>> said_;  ///< of those that may come again
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
  Walk walk(tree);
  for (std::size_t i = 1; i < typed.words.size(); ++i) walk.take(typed.words[i]);
  return walk.offer(typed.last);
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
