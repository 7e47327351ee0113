#pragma once
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dlscale::app {

/// Follows a command line word by word, as the library of options would read it: which command the
/// words call, and which options they name. Looks at no value.
class CommandWalk {
 public:
  /// `declare` adds the options of a verb, and the commands below it, unless it has them already;
  /// it is called when a word names the verb.
  CommandWalk(CLI::App& root, std::function<void(CLI::App&)> declare);

  /// What a word is, where it stands.
  enum class Role { value, dashes, name, command, place };
  [[nodiscard]] Role role_of(const std::string& word) const;
  /// Goes on behind a word that is complete.
  void take(const std::string& word);

  /// That the words call so far.
  [[nodiscard]] CLI::App& command() const { return *command_; }
  /// The option whose values may come now, or null.
  [[nodiscard]] const CLI::Option* open() const { return open_; }
  /// Whether one must come, or may.
  [[nodiscard]] bool wants_value() const;
  [[nodiscard]] bool takes_value() const;
  /// The place that the next word without a name goes to, or null.
  [[nodiscard]] const CLI::Option* place() const;
  /// Whether the command line of another program, or of this one, begins with such a word: the
  /// command reads no word any more.
  [[nodiscard]] bool is_at_prefix() const;
  /// Whether -- was there.
  [[nodiscard]] bool only_places() const { return only_places_; }
  /// Of the command, by one of its names: "--output", "-o".
  [[nodiscard]] const CLI::Option* find_option(std::string_view name) const;
  /// Whether it was named.
  [[nodiscard]] bool has_named(const CLI::Option& option) const { return named_.contains(&option); }
  [[nodiscard]] const std::set<const CLI::Option*>& named() const { return named_; }
  /// All options and places that were given something, in order, each with one value; of a flag "".
  using Given = std::pair<const CLI::Option*, std::string>;
  [[nodiscard]] const std::vector<Given>& given() const { return given_; }

 private:
  [[nodiscard]] CLI::App* find_below(const std::string& word) const;
  void take_name(const std::string& word);
  void take_place(const std::string& word);
  void enter(CLI::App& below);

  CLI::App* root_;
  std::function<void(CLI::App&)> declare_;
  CLI::App* command_;
  const CLI::Option* open_ = nullptr;  ///< whose values come now
  int taken_ = 0;                      ///< of them
  int places_ = 0;                     ///< words without names so far
  bool only_places_ = false;           ///< after --
  std::set<const CLI::Option*> named_;
  std::vector<Given> given_;
};

}  // namespace dlscale::app
