#include "core/config/config_file.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/error.hpp"
#include "core/system/input_file.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {
namespace {

std::string_view type_word(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      return "a mapping";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Scalar:
      return "a single value";
    case YAML::NodeType::Null:
    case YAML::NodeType::Undefined:
      break;
  }
  return "empty";
}

std::string shown(const YAML::Node& node) {
  return node.IsScalar() ? fmt::format("\"{}\"", escape_for_terminal(node.Scalar()))
                         : std::string(type_word(node));
}

template <class Number>
bool parse_all(const std::string& text, Number& value) {
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc{} && end == last;
}

std::string read_text(const std::filesystem::path& file) {
  return read_input(file, "Check that it is a file you may read.");
}

/// Refuses content after the first document, which YAML::Load() ignores silently. Stops where it
/// begins, since the rest need not be YAML and may be endless.
class OneDocument : public YAML::EventHandler {
 public:
  explicit OneDocument(std::string file) : file_(std::move(file)) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    throw ConfigError(fmt::format(
        "{}:{}: here the file's first document has ended, and what follows would not be read. Put "
        "it into the first, or into a file of its own.",
        file_, mark.line + 1));
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}

 private:
  std::string file_;
  int documents_ = 0;
};

void refuse_second_document(const std::filesystem::path& file, const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  OneDocument one(file.string());
  while (parser.HandleNextDocument(one)) continue;
}

YAML::Node parse_file(const std::filesystem::path& file) {
  const std::string text = read_text(file);
  try {
    YAML::Node first = YAML::Load(text);
    refuse_second_document(file, text);
    return first;
  } catch (const YAML::DeepRecursion& error) {
    throw ConfigError(
        fmt::format("{}:{}: this is nested {} levels deep, as no configuration is. Check brackets.",
                    file.string(), error.mark.line + 1, error.depth()));
  } catch (const YAML::Exception& error) {
    throw ConfigError(fmt::format("{}:{}: this is not YAML ({}). Check indentation and brackets.",
                                  file.string(), error.mark.line + 1,
                                  escape_for_terminal(error.msg)));
  }
}

}  // namespace

struct ConfigMap::Contents {
  YAML::Node node;
  std::string file;
  std::string path;  ///< path of this mapping in the file, "" for the root
  std::string title;
  std::vector<std::string> known;  ///< allowed keys; empty: any
  std::shared_ptr<const NamedNumbers> numbers;

  Contents(const YAML::Node& n, std::string in_file, std::string at)
      : node(n), file(std::move(in_file)), path(std::move(at)) {
    if (!node.IsMap()) {
      throw ConfigError(fmt::format("{}: {} is {}. Write a mapping, \"key: value\" a line.", file,
                                    path.empty() ? "the file" : path, type_word(node)));
    }
    refuse_repeated_keys();
  }

  [[nodiscard]] std::string where(std::string_view key) const {
    if (!title.empty())
      return fmt::format("{}: {}: {}", file, escape_for_terminal(title), escape_for_terminal(key));
    return fmt::format("{}: {}/{}", file, escape_for_terminal(path), escape_for_terminal(key));
  }

  void refuse_repeated_keys() const {
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        throw ConfigError(fmt::format("{}: {} has a key that is {}. Write a word.", file,
                                      path.empty() ? "the file" : path, type_word(entry.first)));
      }
      if (!seen.insert(entry.first.Scalar()).second) {
        throw ConfigError(fmt::format("{} occurs twice. Keep one.", where(entry.first.Scalar())));
      }
    }
  }

  void expect_known(std::string_view key) const {
    EXPECT(known.empty() || std::find(known.begin(), known.end(), key) != known.end());
  }

  /// The value of a required key.
  [[nodiscard]] YAML::Node at(std::string_view key) const {
    expect_known(key);
    const YAML::Node& readable = node;  // a mutable node would add the key
    const YAML::Node value = readable[std::string(key)];
    if (!value.IsDefined() || value.IsNull()) {
      throw ConfigError(fmt::format("{} is missing. Add \"{}: …\".", where(key), key));
    }
    return value;
  }

  [[noreturn]] void refuse(const std::string& at, const YAML::Node& value, std::string_view why,
                           std::string_view advice) const {
    throw ConfigError(fmt::format("{} is {} ({}). {}", at, shown(value), why, advice));
  }

  [[nodiscard]] std::string scalar(std::string_view key) const {
    const YAML::Node value = at(key);
    if (!value.IsScalar()) {
      throw ConfigError(
          fmt::format("{} is {}. Write a single value.", where(key), type_word(value)));
    }
    return value.Scalar();
  }

  int to_integer(std::string_view key, const YAML::Node& value, IntegerRange range) const {
    const std::string advice =
        fmt::format("Write a whole number from {} to {}.", range.least, range.most);
    int number = 0;
    if (value.IsScalar() && !parse_all(value.Scalar(), number) && numbers != nullptr &&
        !numbers->empty()) {
      return evaluated(key, value, range);
    }
    if (!value.IsScalar() || !parse_all(value.Scalar(), number)) {
      refuse(where(key), value, "not a whole number", advice);
    }
    if (number < range.least || number > range.most) {
      refuse(where(key), value, "out of range", advice);
    }
    return number;
  }

  /// The value of an expression.
  int evaluated(std::string_view key, const YAML::Node& value, IntegerRange range) const {
    std::int64_t number = 0;
    try {
      number = evaluate(value.Scalar(), *numbers);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{} is {}: {}", where(key), shown(value), error.what()));
    }
    if (number >= range.least && number <= range.most) return static_cast<int>(number);
    throw ConfigError(fmt::format("{} is {}, that is {}. Write a whole number from {} to {}.",
                                  where(key), shown(value), number, range.least, range.most));
  }

  /// A mapping inside this one.
  [[nodiscard]] std::shared_ptr<Contents> inner(const YAML::Node& child, std::string at) const {
    auto contents = std::make_shared<Contents>(child, file, std::move(at));
    contents->numbers = numbers;
    return contents;
  }
};

ConfigMap::ConfigMap(std::shared_ptr<Contents> contents) : contents_(std::move(contents)) {}

ConfigMap ConfigMap::load(const std::filesystem::path& file) {
  return ConfigMap(std::make_shared<Contents>(parse_file(file), file.string(), ""));
}

bool ConfigMap::has(std::string_view key) const {
  const YAML::Node& node = contents_->node;
  contents_->expect_known(key);
  return node[std::string(key)].IsDefined();
}

std::string ConfigMap::text(std::string_view key) const {
  std::string value = contents_->scalar(key);
  if (value.empty()) refuse(key, "empty", "Write a text.");
  return value;
}

std::string ConfigMap::name(std::string_view key) const {
  std::string value = text(key);
  if (is_plain_line(value)) return value;
  refuse(key, "with a line break or another control character", "Write a name on one line.");
}

std::string ConfigMap::text_or(std::string_view key, std::string_view absent) const {
  return has(key) ? text(key) : std::string(absent);
}

int ConfigMap::integer(std::string_view key, IntegerRange range) const {
  return contents_->to_integer(key, contents_->at(key), range);
}

int ConfigMap::integer_or(std::string_view key, int absent, IntegerRange range) const {
  return has(key) ? integer(key, range) : absent;
}

std::vector<int> ConfigMap::integers(std::string_view key, IntegerRange range) const {
  const YAML::Node value = contents_->at(key);
  if (!value.IsSequence()) return {contents_->to_integer(key, value, range)};
  std::vector<int> numbers;
  for (const auto& element : value) {
    numbers.push_back(contents_->to_integer(key, element, range));
  }
  return numbers;
}

double ConfigMap::number(std::string_view key, NumberRange range) const {
  double value = 0;
  const std::string advice = fmt::format("Write a number from {} to {}.", range.least, range.most);
  if (!parse_all(contents_->scalar(key), value)) refuse(key, "not a number", advice);
  if (!(value >= range.least && value <= range.most)) refuse(key, "out of range", advice);
  return value;
}

double ConfigMap::number_or(std::string_view key, double absent, NumberRange range) const {
  return has(key) ? number(key, range) : absent;
}

bool ConfigMap::flag_or(std::string_view key, bool absent) const {
  if (!has(key)) return absent;
  const std::string word = contents_->scalar(key);
  if (word != "true" && word != "false") refuse(key, "neither", "Write true or false.");
  return word == "true";
}

ConfigMap ConfigMap::map(std::string_view key) const {
  return ConfigMap(
      contents_->inner(contents_->at(key), fmt::format("{}/{}", contents_->path, key)));
}

std::vector<ConfigMap> ConfigMap::maps(std::string_view key) const {
  const YAML::Node list = contents_->at(key);
  if (!list.IsSequence()) {
    throw ConfigError(
        fmt::format("{} is {}. Write a list of mappings.", where(key), type_word(list)));
  }
  std::vector<ConfigMap> maps;
  for (const auto& element : list) {
    maps.push_back(ConfigMap(
        contents_->inner(element, fmt::format("{}/{}/{}", contents_->path, key, maps.size()))));
  }
  return maps;
}

bool ConfigMap::has_maps(std::string_view key) const {
  const YAML::Node value = contents_->at(key);
  return value.IsSequence() && std::any_of(value.begin(), value.end(),
                                           [](const auto& element) { return element.IsMap(); });
}

std::vector<std::string> ConfigMap::texts(std::string_view key) const {
  const YAML::Node value = contents_->at(key);
  if (!value.IsSequence()) return {text(key)};
  std::vector<std::string> words;
  for (const auto& element : value) {
    if (!element.IsScalar()) refuse(key, "holds more than words", "Write a list of words.");
    words.push_back(element.Scalar());
  }
  return words;
}

std::vector<std::string> ConfigMap::keys() const {
  std::vector<std::string> keys;
  for (const auto& entry : contents_->node) keys.push_back(entry.first.Scalar());
  return keys;
}

void ConfigMap::allow_only(std::span<const std::string_view> known) const {
  contents_->known.assign(known.begin(), known.end());
  for (const std::string& key : keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw ConfigError(
        fmt::format("{} is not a known key. {}", where(key), suggestion(key, contents_->known)));
  }
}

void ConfigMap::allow_only(std::initializer_list<std::string_view> known) const {
  allow_only(std::span(known.begin(), known.size()));
}

void ConfigMap::set_numbers(std::shared_ptr<const NamedNumbers> names) {
  contents_->numbers = std::move(names);
}

void ConfigMap::set_title(std::string_view title) {
  contents_->title = title;
}

std::string ConfigMap::where() const {
  if (!contents_->title.empty())
    return fmt::format("{}: {}", contents_->file, escape_for_terminal(contents_->title));
  if (contents_->path.empty()) return contents_->file;
  return fmt::format("{}: {}", contents_->file, contents_->path);
}

std::string ConfigMap::where(std::string_view key) const {
  return contents_->where(key);
}

void ConfigMap::refuse(std::string_view key, std::string_view why, std::string_view advice) const {
  contents_->refuse(where(key), contents_->at(key), why, advice);
}

}  // namespace dlscale
