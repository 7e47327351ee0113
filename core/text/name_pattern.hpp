#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace dlscale {

/// A regular expression (RE2) that selects names. Matching takes time proportional to the length of
/// the name, whatever the expression is.
class NamePattern {
 public:
  /// Throws ConfigError, naming the option, if `text` is not a regular expression.
  NamePattern(std::string_view option, const std::string& text);
  /// Whether the expression matches anywhere in a name.
  [[nodiscard]] bool is_in(std::string_view name) const;

 private:
  std::shared_ptr<const re2::RE2> expression_;
};

}  // namespace dlscale
