#pragma once
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/config/expression.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale {

/// Whole numbers from `least` to `most`.
struct IntegerRange {
  int least;
  int most;
};
/// Finite numbers from `least` to `most`.
struct NumberRange {
  double least;
  double most;
};

/// One mapping (key: value, …) of a YAML configuration file, read strictly. Every getter throws
/// ConfigError, which names the file, the path of the value, the value and what to write. A copy is
/// another view of the same mapping.
class ConfigMap {
 public:
  /// Reads a file that is one mapping. Refuses duplicate keys, and anything after the mapping, such
  /// as a second document.
  static ConfigMap load(const std::filesystem::path& file);

  /// Refuses a key that is not among `known`. Call it before any getter; getters may ask for no
  /// other key. So the message names a misspelt key rather than the missing one.
  void allow_only(std::span<const std::string_view> known) const;
  void allow_only(std::initializer_list<std::string_view> known) const;

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key) const;
  /// A text for tables and sentences: it has no control characters, such as line breaks.
  [[nodiscard]] std::string name(std::string_view key) const;
  [[nodiscard]] std::string text_or(std::string_view key, std::string_view absent) const;
  [[nodiscard]] int integer(std::string_view key, IntegerRange range) const;
  [[nodiscard]] int integer_or(std::string_view key, int absent, IntegerRange range) const;
  /// A list of integers, or a single one.
  [[nodiscard]] std::vector<int> integers(std::string_view key, IntegerRange range) const;
  [[nodiscard]] double number(std::string_view key, NumberRange range) const;
  [[nodiscard]] double number_or(std::string_view key, double absent, NumberRange range) const;
  /// true or false.
  [[nodiscard]] bool flag_or(std::string_view key, bool absent) const;
  /// A quantity with its unit, > 0.
  template <class Q>
  [[nodiscard]] Q quantity(std::string_view key) const {
    const Q value = parse_quantity<Q>(text(key), where(key));
    if (value <= Q()) refuse(key, "not greater than zero", "Write a positive quantity.");
    return value;
  }
  [[nodiscard]] ConfigMap map(std::string_view key) const;
  [[nodiscard]] std::vector<ConfigMap> maps(std::string_view key) const;
  /// Whether maps() can read it: it is a list that contains a mapping.
  [[nodiscard]] bool has_maps(std::string_view key) const;
  /// A list of words, or a single one.
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  /// All keys, in the order of the file.
  [[nodiscard]] std::vector<std::string> keys() const;

  /// From now on, a whole number of this mapping, and of those inside it, may be an expression of
  /// `names` (core/config/expression.hpp), such as "4 * width".
  void set_numbers(std::shared_ptr<const NamedNumbers> names);

  /// Later messages about this mapping name `title` instead of its place in a list.
  void set_title(std::string_view title);
  /// Beginning of a message about this mapping, or about one key of it: "cluster.yaml:
  /// /links/inter_node/bandwidth".
  [[nodiscard]] std::string where() const;
  [[nodiscard]] std::string where(std::string_view key) const;
  /// Throws ConfigError: "<where> is <value> (<why>). <advice>".
  [[noreturn]] void refuse(std::string_view key, std::string_view why,
                           std::string_view advice) const;

 private:
  struct Contents;
  explicit ConfigMap(std::shared_ptr<Contents> contents);
  std::shared_ptr<Contents> contents_;
};

/// The value that the word of a key means. If `parse` refuses the word, the error names its place.
template <class Enum>
Enum read_word(const ConfigMap& map, std::string_view key, Enum (*parse)(std::string_view)) {
  const std::string word = map.text(key);
  try {
    return parse(word);
  } catch (const ConfigError& error) {
    throw ConfigError(map.where(key) + ": " + error.what());
  }
}

}  // namespace dlscale
