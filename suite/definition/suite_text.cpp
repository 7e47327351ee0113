#include "suite/definition/suite_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::suite {
namespace {

constexpr std::string_view quotes = "'\"";

bool is_space(char c) {
  return std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos;
}

/// `text` with each {name} replaced by what `meaning` returns, an optional text.
template <class Meaning>
std::string replace_names(const std::string& text, const std::string& where,
                          const Meaning& meaning) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('{', at);
    result += text.substr(at, open - at);
    if (open == std::string::npos) break;
    const std::size_t close = text.find('}', open);
    const std::string name = text.substr(open + 1, close - open - 1);
    const std::optional<std::string> found =
        close == std::string::npos ? std::nullopt : meaning(name);
    if (!found) {
      throw ConfigError(
          fmt::format("{}: {{{}}} stands for nothing. Define it in the step's \"for\".", where,
                      escape_for_terminal(name)));
    }
    result += *found;
    at = close + 1;
  }
  return result;
}

/// Fills in the rows of tables, and leaves placeholders of values from outside.
std::string fill_in_rows(const std::string& text, const Placeholders& values,
                         const std::string& where) {
  return replace_names(text, where, [&](const std::string& name) -> std::optional<std::string> {
    if (const auto row = values.rows.find(name); row != values.rows.end()) return row->second;
    if (values.outside.contains(name)) return "{" + name + "}";
    return std::nullopt;
  });
}

std::string fill_in_outside(const std::string& text, const Placeholders& values,
                            const std::string& where) {
  return replace_names(text, where, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = values.outside.find(name);
    return found == values.outside.end() ? std::nullopt : std::optional(found->second);
  });
}

/// The end of the word that begins at `at`: white space outside quotes. Throws ConfigError that
/// begins with `where` if quotes stay open.
std::size_t end_of_word(std::string_view text, std::size_t at, const std::string& where) {
  char open = '\0';
  for (; at < text.size(); ++at) {
    if (open != '\0') {
      if (text[at] == open) open = '\0';
    } else if (quotes.find(text[at]) != std::string_view::npos) {
      open = text[at];
    } else if (is_space(text[at])) {
      break;
    }
  }
  if (open == '\0') return at;
  throw ConfigError(
      fmt::format("{} has a {} that is not closed. Write another behind the word.", where, open));
}

/// The word without the quotes around its parts; the other kind may stand between them.
std::string unquoted(std::string_view word) {
  std::string result;
  char open = '\0';
  for (const char c : word) {
    const bool is_quote = quotes.find(c) != std::string_view::npos;
    if (is_quote && open == '\0') {
      open = c;
    } else if (is_quote && open == c) {
      open = '\0';
    } else {
      result += c;
    }
  }
  return result;
}

std::vector<std::string> split(std::string_view text, const std::string& where) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    const std::size_t end = end_of_word(text, at, where);
    words.push_back(unquoted(text.substr(at, end - at)));
    at = end;
  }
  return words;
}

/// The rows of one axis of a `for` table: words, or tables of words that belong together. They may
/// use the placeholders in `known`.
std::vector<Values> rows(const ConfigMap& table, const std::string& axis,
                         const Placeholders& known) {
  std::vector<Values> result;
  if (!table.has_maps(axis)) {
    for (const std::string& word : table.texts(axis)) {
      result.push_back({{axis, fill_in_rows(word, known, table.where(axis))}});
    }
  } else {
    for (const ConfigMap& row : table.maps(axis)) {
      Values& values = result.emplace_back();
      for (const std::string& key : row.keys()) {
        values[key] = fill_in_rows(row.text(key), known, row.where(key));
      }
    }
  }
  if (result.empty()) table.refuse(axis, "empty", "Write what it stands for, or leave it out.");
  return result;
}

}  // namespace

std::string fill_in(const std::string& text, const Placeholders& values, const std::string& where) {
  return fill_in_outside(fill_in_rows(text, values, where), values, where);
}

std::vector<Placeholders> combinations(const ConfigMap& step, const Placeholders& base,
                                       const SuiteLimit& limit) {
  std::vector<Placeholders> result{base};
  if (!step.has("for")) return result;
  const ConfigMap table = step.map("for");
  for (const std::string& axis : table.keys()) {
    std::vector<Placeholders> next;
    for (const Placeholders& values : result) {
      for (Values& row : rows(table, axis, values)) {
        row.insert(values.rows.begin(), values.rows.end());
        next.push_back({std::move(row), values.outside});
        if (next.size() > limit.most) {
          step.refuse(
              "for", fmt::format("more than {} {} by its combinations", limit.most, limit.what),
              fmt::format("Write fewer values, for at most {} {}.", limit.most, limit.what));
        }
      }
    }
    result = std::move(next);
  }
  return result;
}

int read_count(const ConfigMap& map, std::string_view key, const Placeholders& values,
               IntegerRange range) {
  const std::string text = fill_in(map.text(key), values, map.where(key));
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && count >= range.least && count <= range.most) return count;
  throw ConfigError(fmt::format("{} is \"{}\". Write a whole number from {} to {}.", map.where(key),
                                escape_for_terminal(text), range.least, range.most));
}

std::vector<std::string> read_words(const ConfigMap& map, std::string_view key,
                                    const Placeholders& values) {
  const std::string where = map.where(key);
  std::vector<std::string> words = split(fill_in_rows(map.text(key), values, where), where);
  for (std::string& word : words) word = fill_in_outside(word, values, where);
  if (!words.empty()) return words;
  throw ConfigError(
      fmt::format("{} is empty. Write a {} and its options.", where,
                  key == "command" ? "verb of dlscale" : "program that is on the PATH"));
}

std::vector<std::string> read_command(const ConfigMap& map, const Placeholders& values,
                                      const std::vector<std::string>& verbs) {
  std::vector<std::string> words = read_words(map, "command", values);
  if (std::ranges::find(verbs, words.front()) == verbs.end()) {
    throw ConfigError(fmt::format(
        "{} starts with \"{}\", which is not a verb of dlscale. Write what follows \"dlscale\". {}",
        map.where("command"), escape_for_terminal(words.front()),
        suggestion(words.front(), verbs)));
  }
  return words;
}

std::set<std::string> read_tags(const ConfigMap& map, const Placeholders& values) {
  std::set<std::string> tags;
  if (!map.has("tags")) return tags;
  constexpr std::size_t longest = 40;
  const auto is_letter = [](char c) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return plain || c == '_' || c == '-' || c == '.';
  };
  for (const std::string& text : map.texts("tags")) {
    const std::string tag = fill_in(text, values, map.where("tags"));
    // On a command line --tag=-x would look like an option.
    const bool is_word = !tag.empty() && tag.size() <= longest && tag.front() != '-' &&
                         std::ranges::all_of(tag, is_letter);
    if (!is_word) {
      throw ConfigError(fmt::format(
          "{} holds \"{}\", which is not a word. Write letters, digits, _, - and ., {} at "
          "most.",
          map.where("tags"), escape_for_terminal(tag), longest));
    }
    tags.insert(tag);
  }
  return tags;
}

Placeholders without_folder(Placeholders values) {
  const auto out = values.outside.find("out");
  if (out == values.outside.end()) return values;
  const auto data = values.outside.find("data");
  const std::string placeholder = "{out}";
  if (data != values.outside.end() && data->second == out->second + "/data") {
    data->second = placeholder + "/data";
  }
  out->second = placeholder;
  return values;
}

}  // namespace dlscale::suite
