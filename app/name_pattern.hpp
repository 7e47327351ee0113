#pragma once
#include <regex>
#include <string>
#include <string_view>

namespace CLI {
class Validator;
}

namespace dlscale::app {

/// A regular expression (of ECMAScript, without references back) that names are chosen by. The
/// library that reads it calls itself for each group and each repetition, so that long ones would
/// use up the stack.
class NamePattern {
 public:
  /// Throws ConfigError, which names the option: no regular expression, or too long a one.
  NamePattern(std::string_view option, const std::string& text);
  /// Whether it is found in a name. Throws ConfigError where looking for it takes too much: in a
  /// name of more than 4000 letters.
  [[nodiscard]] bool is_in(const std::string& name) const;

 private:
  std::string option_;
  std::regex expression_;
};

/// A check for options that take one.
CLI::Validator name_pattern();

}  // namespace dlscale::app
