#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::app {

/// Replaces names of the last release by today's. Standard error says each replacement once.
class CurrentNames {
 public:
  /// Today's name of an option of a verb ("fresh" of "gate"), or of a verb if `verb` is empty.
  std::string name(std::string_view verb, const std::string& name);
  /// The value of an option ("--concurrent-with"), maybe a list with commas, with today's words.
  std::string value(std::string_view option, const std::string& value);
  /// The words of a command line. Those behind "--" belong to another program and stay.
  std::vector<std::string> words(std::vector<std::string> words);

 private:
  void say(const std::string& old, std::string_view now);
  std::set<std::string> said_;
};

/// Verbs of the last release that have another name today.
std::vector<std::string> old_verbs();

}  // namespace dlscale::app
