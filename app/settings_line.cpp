#include "app/settings_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "app/bench_suite.hpp"
#include "app/command_tree.hpp"
#include "app/command_walk.hpp"
#include "app/output_place.hpp"
#include "app/settings_names.hpp"
#include "core/error.hpp"
#include "core/shown_text.hpp"

namespace dlscale::app {
namespace {

using Words = std::vector<std::string>;
using From = SetElsewhere::From;

/// A line, as far as it is the command's own.
class ReadLine {
 public:
  ReadLine(CLI::App& root, const std::function<void(CLI::App&)>& declare, const Words& words)
      : walk_(root, declare) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const CommandWalk::Role role = walk_.role_of(words[i]);
      if (role == CommandWalk::Role::place && walk_.is_at_prefix()) {
        end_ = std::min(end_, i);
        return;
      }
      if (role == CommandWalk::Role::name || role == CommandWalk::Role::dashes) {
        end_ = std::min(end_, i);
      }
      walk_.take(words[i]);
      if (role != CommandWalk::Role::command) continue;
      behind_[&walk_.command()] = i + 1;
      end_ = words.size();
    }
    end_ = std::min(end_, words.size());
  }

  [[nodiscard]] CLI::App& command() const { return walk_.command(); }
  [[nodiscard]] const CommandWalk& walk() const { return walk_; }
  /// The options and places that are given something.
  [[nodiscard]] std::set<const CLI::Option*> typed() const {
    std::set<const CLI::Option*> options = walk_.named();
    for (const auto& [option, value] : walk_.given()) options.insert(option);
    return options;
  }
  /// The command, and those whose words call it, but for the program.
  [[nodiscard]] std::vector<CLI::App*> commands() const {
    std::vector<CLI::App*> all;
    for (CLI::App* it = &command(); it->get_parent() != nullptr; it = it->get_parent()) {
      all.push_back(it);
    }
    return all;
  }
  /// Where options of a command may be put in. Of the one that is called that is where the first of
  /// its options stands, and not right behind its words: an option that takes several values would
  /// take the words of places for its own.
  [[nodiscard]] std::size_t position(CLI::App& of) const {
    return &of == &command() ? end_ : behind_.at(&of);
  }
  /// Whether there is anything that could be set.
  [[nodiscard]] bool has_options() const {
    return std::ranges::any_of(commands(),
                               [](const CLI::App* it) { return !settable_options(*it).empty(); });
  }
  [[nodiscard]] bool asks_for_help() const {
    return std::ranges::any_of(commands(), [this](const CLI::App* it) {
      return it->get_help_ptr() != nullptr && walk_.has_named(*it->get_help_ptr());
    });
  }

 private:
  CommandWalk walk_;
  std::map<const CLI::App*, std::size_t> behind_;
  std::size_t end_ = std::string::npos;
};

/// As it would be typed. Several values go into one word with commas where the option takes them
/// so, else into a word each.
Words typed_words(const std::string& name, const CLI::Option& option, const Words& items) {
  if (option.get_delimiter() != '\0' || !may_come_again(option)) {
    return {fmt::format("{}={}", name, fmt::join(items, ","))};
  }
  Words words;
  for (const std::string& item : items) words.push_back(fmt::format("{}={}", name, item));
  return words;
}

std::optional<bool> parse_flag(const std::string& text) {
  if (text == "yes" || text == "true" || text == "1") return true;
  if (text == "no" || text == "false" || text == "0") return false;
  return std::nullopt;
}

SetElsewhere flag_set(const CLI::Option& option, bool is_on, From from, std::string place) {
  SetElsewhere set{.option = &option, .name = option.get_name(), .value = is_on ? "yes" : "no"};
  set.from = from;
  set.place = std::move(place);
  if (is_on) set.words = {set.name};
  return set;
}

SetElsewhere value_set(const CLI::Option& option, const Words& items, From from,
                       std::string place) {
  SetElsewhere set{.option = &option, .name = option.get_name()};
  if (!option.get_snames().empty()) set.letter = "-" + option.get_snames().front();
  set.value = fmt::format("{}", fmt::join(items, ","));
  set.from = from;
  set.place = std::move(place);
  set.words = typed_words(set.name, option, items);
  return set;
}

/// Of an option that may be there several times, a value a line.
Words lines_of(const std::string& text) {
  Words lines;
  for (const std::string& line : CLI::detail::split(text, '\n')) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines.empty() ? Words{text} : lines;
}

SetElsewhere from_variable(const CLI::Option& option, const std::string& name,
                           const std::string& text) {
  if (takes_value(option)) {
    const bool in_lines = may_come_again(option) && option.get_delimiter() == '\0';
    return value_set(option, in_lines ? lines_of(text) : Words{text}, From::environment, name);
  }
  const std::optional<bool> flag = parse_flag(text);
  if (flag) return flag_set(option, *flag, From::environment, name);
  throw ConfigError(fmt::format("{} is \"{}\" ({} is there or not). Write yes or no.", name,
                                shown_text(text), option.get_name()));
}

/// Its own variable, else the one that its verb reads besides.
std::optional<SetElsewhere> find_variable(const CLI::App& command, const CLI::Option& option,
                                          const VariableLookup& variable) {
  for (const std::string& name : {variable_of(command, option), option.get_envname()}) {
    const std::string value = value_of_variable(variable, name);
    if (!value.empty()) return from_variable(option, name, value);
  }
  return std::nullopt;
}

std::optional<SetElsewhere> find_in_file(const CLI::App& command, const CLI::Option& option,
                                         const SettingsFile& file) {
  const std::optional<SettingsFile::Value> value = file.find(command, option);
  if (!value) return std::nullopt;
  if (takes_value(option)) return value_set(option, value->items, From::file, value->place);
  return flag_set(option, value->items.front() == "true", From::file, value->place);
}

bool go_together(const CLI::App& command, const CLI::Option& a, const CLI::Option& b) {
  const auto without = a.get_excludes();
  if (std::ranges::any_of(without, [&](const auto* it) { return it == &b; })) return false;
  return !path_of(command).starts_with("bench ") || go_with_suite(a.get_name(), b.get_name());
}

/// A slip in the name of one is the verb's to refuse.
bool has_format(const std::string& place) {
  try {
    return !parse_place("-o", place).format.empty();
  } catch (const ConfigError&) {
    return false;
  }
}

/// Whether there are places and each has a format of its own, so that --format has no effect.
bool have_formats(const Words& places) {
  return !places.empty() && std::ranges::all_of(places, has_format);
}

/// Leaves out what cannot stand on this line: the line wins over the environment, that over the
/// file, and what is itself left out wins over nothing. Of one place two that do not go together
/// are its author's slip, which the verb says.
class Obstacles {
 public:
  Obstacles(const ReadLine& line, std::vector<SetElsewhere>& set)
      : line_(line), typed_(line.typed()), set_(set) {}

  void find() {
    for (SetElsewhere& candidate : set_) leave_out_beside_typed(candidate);
    // What these lack nothing can bring.
    while (leave_out_needy(From::environment) || leave_out_needy(From::file)) continue;
    std::vector<SetElsewhere*> of_file;
    for (SetElsewhere& candidate : set_) {
      if (candidate.from == From::file && counts(candidate)) of_file.push_back(&candidate);
    }
    // A variable may lack an option of the file that another variable excludes; without it the file
    // may set what only it excluded.
    do {
      for (SetElsewhere* candidate : of_file) leave_out_beside_variables(*candidate);
      while (leave_out_needy(From::file)) continue;
    } while (leave_out_needy(From::environment));
  }

 private:
  /// Of a flag that is off there is nothing to leave out.
  static bool counts(const SetElsewhere& candidate) {
    return candidate.obstacle.empty() && !candidate.words.empty();
  }

  void leave_out_beside_typed(SetElsewhere& candidate) const {
    if (candidate.words.empty()) return;
    for (const CLI::Option* other : typed_) {
      if (!goes_with(candidate, *other)) candidate.obstacle = without(other->get_name());
    }
    Words places;
    for (const auto& [option, value] : line_.walk().given()) {
      if (names_places(*option)) places.push_back(value);
    }
    if (candidate.name == "--format" && have_formats(places)) candidate.obstacle = beside_formats;
  }

  void leave_out_beside_variables(SetElsewhere& candidate) const {
    candidate.obstacle.clear();
    for (const SetElsewhere& other : set_) {
      if (other.from != From::environment || !counts(other)) continue;
      if (!goes_with(candidate, *other.option)) candidate.obstacle = without(other.name);
      const bool is_format = candidate.name == "--format" && names_places(*other.option);
      if (is_format && have_formats(values_of(other))) candidate.obstacle = beside_formats;
    }
  }

  /// Of those that are set there the first that goes only with one which is not there; whether
  /// there was any.
  bool leave_out_needy(From from) const {
    for (SetElsewhere& candidate : set_) {
      if (candidate.from != from || !counts(candidate)) continue;
      for (const CLI::Option* needed : candidate.option->get_needs()) {
        if (is_there(*needed)) continue;
        candidate.obstacle = fmt::format("goes only with {}", needed->get_name());
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool is_there(const CLI::Option& option) const {
    return typed_.contains(&option) || std::ranges::any_of(set_, [&](const SetElsewhere& it) {
             return it.option == &option && counts(it);
           });
  }

  [[nodiscard]] bool goes_with(const SetElsewhere& candidate, const CLI::Option& other) const {
    return go_together(line_.command(), *candidate.option, other);
  }

  static std::string without(const std::string& name) {
    return fmt::format("does not go with {}", name);
  }
  static constexpr const char* beside_formats = "does not go with --output, which names formats";

  static bool names_places(const CLI::Option& option) {
    return option.get_name() == "--output" && may_come_again(option);
  }

  /// Behind "--output=", of each word.
  static Words values_of(const SetElsewhere& set) {
    Words values;
    for (const std::string& word : set.words) values.push_back(word.substr(set.name.size() + 1));
    return values;
  }

  const ReadLine& line_;
  std::set<const CLI::Option*> typed_;
  std::vector<SetElsewhere>& set_;
};

std::vector<SetElsewhere> find_set(const ReadLine& line, CLI::App& root,
                                   const SettingsSources& sources) {
  std::optional<SettingsFile> file;
  if (!sources.place.file.empty()) {
    file.emplace(sources.place.file);
    file->check_verbs(root);
    file->check(*line.commands().back());
  }
  std::vector<SetElsewhere> of_environment;
  std::vector<SetElsewhere> of_file;
  for (const CLI::App* command : line.commands()) {
    for (const CLI::Option* option : settable_options(*command)) {
      if (line.walk().has_named(*option)) continue;
      if (auto set = find_variable(*command, *option, sources.variable)) {
        of_environment.push_back(std::move(*set));
      } else if (file && (set = find_in_file(*command, *option, *file))) {
        of_file.push_back(std::move(*set));
      }
    }
  }
  std::ranges::move(of_file, std::back_inserter(of_environment));
  return of_environment;
}

/// Those of one command, to be put before the word `next`. Those that take several values come
/// first: the library of options drops a -- that ends them, so that another must follow it.
Words words_of(const CLI::App& command, const std::vector<SetElsewhere>& set,
               const std::string& next) {
  std::vector<const SetElsewhere*> own;
  for (const SetElsewhere& one : set) {
    const auto options = settable_options(command);
    const bool is_own = std::ranges::find(options, one.option) != options.end();
    if (is_own && one.obstacle.empty() && !one.words.empty()) own.push_back(&one);
  }
  std::ranges::stable_partition(own, [](const auto* one) { return takes_values(*one->option); });
  Words words;
  for (const SetElsewhere* one : own) std::ranges::copy(one->words, std::back_inserter(words));
  if (next == "--" && !own.empty() && takes_values(*own.back()->option)) words.emplace_back("--");
  return words;
}

}  // namespace

SettingsSources find_sources(const VariableLookup& variable) {
  return {variable, find_settings(variable)};
}

SettledLine settle_line(CLI::App& root, const std::function<void(CLI::App&)>& declare,
                        const std::vector<std::string>& words, const SettingsSources& sources) {
  SettledLine settled{words, {}};
  const ReadLine line(root, declare, words);
  const bool is_off = sources.place.by == SettingsPlace::By::off;
  if (is_off || !line.has_options() || line.asks_for_help()) return settled;
  settled.set = find_set(line, root, sources);
  Obstacles(line, settled.set).find();
  // From the last command on, so that the positions of those before it stay as they are.
  for (CLI::App* command : line.commands()) {
    const std::size_t position = line.position(*command);
    const std::string next = position < words.size() ? words[position] : "";
    const Words more = words_of(*command, settled.set, next);
    settled.words.insert(settled.words.begin() + static_cast<std::ptrdiff_t>(position),
                         more.begin(), more.end());
  }
  return settled;
}

}  // namespace dlscale::app
