#include "regression/history/series_key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "core/base/error.hpp"
#include "core/base/printable.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

constexpr std::array key_fields{"axes",    "better", "environment", "launch",
                                "machine", "metric", "suite",       "unit"};
constexpr std::size_t id_digits = 16;
constexpr std::size_t short_digits = 8;

std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const Character next = first_character(text);
    valid += next.valid ? text.substr(0, next.bytes) : "\xEF\xBF\xBD";
    text.remove_prefix(next.bytes);
  }
  return valid;
}

/// Invalid bytes of a name become U+FFFD before the names are sorted, as they are again when the
/// key is read. Of names that become the same, the first counts.
json facts_json(const Facts& facts) {
  json object = json::object();
  for (const auto& [name, value] : facts) object.emplace(valid_utf8(name), value);
  return object;
}

json key_json(const SeriesKey& key) {
  return {{"suite", key.suite},
          {"axes", facts_json(key.axes)},
          {"metric", key.metric},
          {"unit", key.unit},
          {"better", better_name(key.direction)},
          {"machine", facts_json(key.machine)},
          {"environment", facts_json(key.environment)},
          {"launch", facts_json(key.launch)}};
}

/// Invalid UTF-8 becomes U+FFFD, so the text is valid JSON whatever a variable holds.
std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Word for a portable file name: lower-case letters, digits and dashes.
std::string file_word(std::string_view text) {
  std::string word;
  for (const char letter : text) {
    const bool upper = letter >= 'A' && letter <= 'Z';
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    if (upper || plain || letter == '_') {
      word += upper ? static_cast<char>(letter - 'A' + 'a') : letter;
    } else if (!word.empty() && word.back() != '-') {
      word += '-';
    }
  }
  constexpr std::size_t longest = 40;
  if (word.size() > longest) word.resize(longest);
  while (!word.empty() && word.back() == '-') word.pop_back();
  return word.empty() ? "x" : word;
}

}  // namespace

std::string_view better_name(Direction direction) {
  switch (direction) {
    case Direction::smaller_is_better:
      return "smaller";
    case Direction::larger_is_better:
      return "larger";
    case Direction::steady:
      return "steady";
  }
  return "";
}

Direction parse_better(std::string_view word) {
  for (const Direction direction :
       {Direction::smaller_is_better, Direction::larger_is_better, Direction::steady}) {
    if (better_name(direction) == word) return direction;
  }
  throw ConfigError(
      fmt::format("\"{}\" says not which way of a metric is good. Write smaller, "
                  "larger or steady.",
                  escape_for_terminal(word)));
}

std::string SeriesKey::text() const {
  return dumped(key_json(*this));
}

std::string SeriesKey::id() const {
  return sha256(text()).substr(0, id_digits);
}

std::string SeriesKey::name() const {
  std::string name = suite;
  for (const auto& [axis, value] : axes) name += fmt::format(" {}={}", axis, value);
  return fmt::format("{}: {}", name, metric);
}

std::string SeriesKey::file_stem() const {
  return fmt::format("{}-{}-{}", file_word(suite), file_word(metric), id());
}

std::string SeriesKey::environment_id() const {
  return sha256(dumped(json(environment))).substr(0, short_digits);
}

bool SeriesKey::is_detail() const {
  return suite == "e2e" && metric != "t_iter";
}

std::string SeriesKey::question() const {
  json value = key_json(*this);
  value.erase("environment");
  return dumped(value);
}

Values values_of(const SeriesKey& key) {
  constexpr std::array wholes{"time",     "t_iter",    "real_time",
                              "cpu_time", "iteration", "time to train"};
  if (key.direction == Direction::larger_is_better) return Values::from_0;
  const bool is_part = key.unit == "s" && std::ranges::find(wholes, key.metric) == wholes.end();
  return is_part ? Values::any : Values::positive;
}

SeriesKey parse_series_key(std::string_view text) {
  try {
    expect_json_depth(text);
    const json value = json::parse(text);
    if (!value.is_object()) throw ConfigError("the key of a series is not a JSON object");
    for (const auto& [field, unused] : value.items()) {
      if (std::find(key_fields.begin(), key_fields.end(), field) == key_fields.end()) {
        throw ConfigError(fmt::format("the key of a series has an unknown field \"{}\"",
                                      escape_for_terminal(field)));
      }
    }
    SeriesKey key;
    key.suite = value.at("suite");
    key.axes = value.at("axes").get<Facts>();
    key.metric = value.at("metric");
    key.unit = value.at("unit");
    key.direction = parse_better(value.at("better").get<std::string>());
    key.machine = value.at("machine").get<Facts>();
    key.environment = value.at("environment").get<Facts>();
    key.launch = value.at("launch").get<Facts>();
    return key;
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, text));
  }
}

std::string differences(const Facts& before, const Facts& after) {
  std::set<std::string> names;
  for (const Facts* facts : {&before, &after}) {
    for (const auto& [name, value] : *facts) names.insert(name);
  }
  const auto value_of = [](const Facts& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::string("none") : found->second;
  };
  std::string text;
  for (const std::string& name : names) {
    const std::string old = value_of(before, name);
    const std::string now = value_of(after, name);
    if (old == now) continue;
    text += fmt::format("{}{}: {} → {}", text.empty() ? "" : ", ", name, old, now);
  }
  return text;
}

std::string sha256(std::string_view content) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (EVP_Digest(content.data(), content.size(), digest.data(), &length, EVP_sha256(), nullptr) !=
      1) {
    throw LibraryError("EVP_Digest of libcrypto failed: it has no SHA-256");
  }
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(length), ""));
}

}  // namespace dlscale::regression::history
