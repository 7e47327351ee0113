#include "model/published/cases/json_fields.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/system/file_kind.hpp"
#include "core/system/input_file.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::cases {
namespace {

template <class Enum>
using CaseWord = std::pair<std::string_view, Enum>;

constexpr std::array<CaseWord<Synchronisation>, 4> synchronisations{
    {{"all_reduce", Synchronisation::all_reduce},
     {"parameter_server", Synchronisation::parameter_server},
     {"replicated_copy", Synchronisation::replicated_copy},
     {"fsdp", Synchronisation::fsdp}}};
constexpr std::array<CaseWord<Overlap>, 7> overlaps{
    {{"none", Overlap::none},
     {"wfbp", Overlap::wfbp},
     {"bucketed", Overlap::bucketed},
     {"merged", Overlap::merged},
     {"scheduled", Overlap::scheduled},
     {"bucketed+async_tp", Overlap::bucketed_async_tp},
     {"unknown", Overlap::unknown}}};
constexpr std::array<CaseWord<Input>, 3> inputs{
    {{"synthetic", Input::synthetic}, {"real", Input::real}, {"unknown", Input::unknown}}};
constexpr std::array<CaseWord<BufferMemory>, 2> buffers{
    {{"device", BufferMemory::device}, {"host", BufferMemory::host}}};
constexpr std::array<CaseWord<CurveTask>, 2> tasks{
    {{"interpolate", CurveTask::interpolate}, {"extrapolate", CurveTask::extrapolate}}};

[[noreturn]] void refuse_word(std::string_view word, std::string_view where,
                              std::span<const std::string_view> known) {
  const std::vector<std::string> words(known.begin(), known.end());
  throw ConfigError(fmt::format("{} is \"{}\", which is not a known value. {}", where, word,
                                suggestion(word, words)));
}

template <class Enum, std::size_t N>
std::array<std::string_view, N> words_of(const std::array<CaseWord<Enum>, N>& all) {
  std::array<std::string_view, N> words;
  std::ranges::transform(all, words.begin(), [](const auto& named) { return named.first; });
  return words;
}

/// Returns nullptr for a word unlike all known ones, and throws for a misspelt one.
template <class Enum, std::size_t N>
const CaseWord<Enum>* find_word(std::string_view word, std::string_view where,
                                const std::array<CaseWord<Enum>, N>& all) {
  for (const auto& named : all) {
    if (named.first == word) return &named;
  }
  const auto known = words_of(all);
  if (!meant_by(word, known).empty()) refuse_word(word, where, known);
  return nullptr;
}

template <class Enum, std::size_t N>
Enum parse_or_other(std::string_view word, std::string_view where,
                    const std::array<CaseWord<Enum>, N>& all) {
  const auto* found = find_word(word, where, all);
  return found == nullptr ? Enum::other : found->second;
}

using nlohmann::json;

constexpr std::string_view advice = "Correct the line, or take it out.";
constexpr std::size_t longest_text = 4096;
constexpr std::size_t longest_list = 100000;
constexpr double largest_exact_whole = 9007199254740992.0;  ///< 2^53

/// A value as text for a message; only its kind if it is long or a container.
std::string shown(const json& value) {
  constexpr std::size_t most_shown = 80;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string() && value.get_ref<const std::string&>().size() > most_shown) {
    return "a long text";
  }
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<std::int64_t> as_whole(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(INT64_MAX)) return {};
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return {};
  const auto number = value.get<double>();
  if (std::abs(number) > largest_exact_whole || number != std::floor(number)) return {};
  return static_cast<std::int64_t>(number);
}

/// A number as Python writes a float: 0.5, 8.0, 1e+16.
std::string python_float(double number) {
  std::string text = fmt::format("{}", number);
  const bool is_bare = text.find_first_not_of("-0123456789") == std::string::npos;
  return is_bare ? text + ".0" : text;
}

std::string python_text(const json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return python_float(value.get<double>());
  return value.dump();
}

/// A value within a line, by its dotted name.
struct NestedValue {
  std::string name;
  const json* value;
  int depth;
};

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uintmax_t most_bytes = std::uintmax_t{1} << 29U;

void refuse_large(const fs::path& path, std::string_view what) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error || bytes <= most_bytes) return;
  throw ConfigError(
      fmt::format("{} has {} bytes, more than {} that are read at most. Name a file of {}.",
                  path.string(), bytes, most_bytes, what));
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

struct Place {
  std::string text;     ///< "cases.jsonl:3"
  bool is_cut = false;  ///< without a line end
};

/// Throws if a key of an object occurs twice, since the parser would keep only the last.
json parse_unambiguous(const std::string& line, const Place& place) {
  std::vector<std::set<std::string>> open;  // keys of the objects that are still open
  const auto look = [&](int, json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event != json::parse_event_t::key) return true;
    if (open.back().insert(value.get<std::string>()).second) return true;
    throw ConfigError(fmt::format("{}: {} stands twice. Correct the line, or take it out.",
                                  place.text, value.get<std::string>()));
  };
  return json::parse(line, look);
}

json parse_line(const std::string& line, const Place& place, std::string_view what) {
  try {
    json value = parse_unambiguous(line, place);
    if (value.is_object()) return value;
  } catch (const json::parse_error& error) {
    if (place.is_cut) {
      throw ConfigError(
          fmt::format("{}: the last line is cut short, so that {} may be missing. Get the whole "
                      "file, or take the line out.",
                      place.text, what));
    }
    throw ConfigError(
        fmt::format("{}: column {} is not JSON in UTF-8. Correct the line, or take it out.",
                    place.text, error.byte));
  } catch (const json::exception&) {
    throw ConfigError(fmt::format(
        "{}: a number is too large to be one. Correct the line, or take it out.", place.text));
  }
  throw ConfigError(
      fmt::format("{}: this is not a JSON object. Correct the line, or take it out.", place.text));
}

/// Replaces control characters, which could affect a terminal or break the one line of a message.
std::string without_controls(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

}  // namespace

std::string_view meant_by(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t longest_looked_at = 64;
  if (word.size() > longest_looked_at) return {};
  for (const std::string_view candidate : known) {
    const std::size_t longest = std::max(word.size(), candidate.size());
    const int slips = std::max(1, static_cast<int>(longest / 4));
    if (longest >= 4 && edit_distance(word, candidate) <= slips) return candidate;
  }
  return {};
}

Synchronisation parse_synchronisation(std::string_view word, std::string_view where) {
  return parse_or_other(word, where, synchronisations);
}

Overlap parse_overlap(std::string_view word, std::string_view where) {
  return parse_or_other(word, where, overlaps);
}

Input parse_input(std::string_view word, std::string_view where) {
  return parse_or_other(word, where, inputs);
}

BufferMemory parse_buffer(std::string_view word, std::string_view where) {
  return parse_or_other(word, where, buffers);
}

CurveTask parse_task(std::string_view word, std::string_view where) {
  const auto* found = find_word(word, where, tasks);
  if (found == nullptr) refuse_word(word, where, words_of(tasks));
  return found->second;
}

JsonFields::JsonFields(const json& fields, std::string place, std::string path)
    : object_(&fields), place_(std::move(place)), path_(std::move(path)) {}

std::string JsonFields::name(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

std::string JsonFields::where(std::string_view key) const {
  return fmt::format("{}: {}", place_, name(key));
}

void JsonFields::refuse_value(const json& value, std::string_view key, std::string_view why) const {
  throw ConfigError(fmt::format("{} is {}, {}. {}", where(key), shown(value), why, advice));
}

void JsonFields::refuse(std::string_view key, std::string_view why) const {
  refuse_value(at(key), key, why);
}

const json* JsonFields::find(std::string_view key) const {
  const auto found = object_->find(std::string(key));
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

const json& JsonFields::at(std::string_view key) const {
  if (const json* value = find(key)) return *value;
  if (mentions(key)) {
    throw ConfigError(fmt::format("{} is null, and is needed. {}", where(key), advice));
  }
  throw ConfigError(fmt::format("{}: {} is missing. {}", place_, name(key), advice));
}

bool JsonFields::mentions(std::string_view key) const {
  return object_->contains(std::string(key));
}

bool JsonFields::has(std::string_view key) const {
  return find(key) != nullptr;
}

void JsonFields::expect_spelling(std::initializer_list<std::string_view> known) const {
  std::vector<std::string_view> absent;
  for (const std::string_view key : known) {
    if (!mentions(key)) absent.push_back(key);
  }
  for (const auto& [key, value] : object_->items()) {
    if (std::ranges::find(known, std::string_view(key)) != known.end()) continue;
    const std::string_view meant = meant_by(key, absent);
    if (meant.empty()) continue;
    throw ConfigError(fmt::format("{}: {} is not a field. Did you mean {}? {}", place_, name(key),
                                  name(meant), advice));
  }
}

std::string JsonFields::text(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_string()) refuse_value(value, key, "where a text is needed");
  std::string text = value.get<std::string>();
  if (text.empty()) refuse_value(value, key, "where a text is needed that is not empty");
  if (text.size() > longest_text) refuse_value(value, key, "longer than any such text is");
  return text;
}

std::string JsonFields::text_if(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (value->is_string() && value->get_ref<const std::string&>().empty()) return {};
  return text(key);
}

std::int64_t JsonFields::whole(std::string_view key, WholeRange range) const {
  const json& value = at(key);
  const std::optional<std::int64_t> number = as_whole(value);
  if (!number || *number < range.least || *number > range.most) {
    refuse_value(
        value, key,
        fmt::format("where a whole number from {} to {} is needed", range.least, range.most));
  }
  return *number;
}

std::optional<std::int64_t> JsonFields::whole_if(std::string_view key, WholeRange range) const {
  if (!has(key)) return {};
  return whole(key, range);
}

int JsonFields::count(std::string_view key, WholeRange range) const {
  EXPECT(range.least >= INT32_MIN && range.most <= INT32_MAX);
  return static_cast<int>(whole(key, range));
}

std::optional<int> JsonFields::count_if(std::string_view key, WholeRange range) const {
  if (!has(key)) return {};
  return count(key, range);
}

double JsonFields::real_in(const json& value, std::string_view key, RealRange range) const {
  const bool is_number = value.is_number();
  const double number = is_number ? value.get<double>() : 0;
  if (!is_number || !std::isfinite(number) || number < range.least || number > range.most) {
    refuse_value(value, key,
                 fmt::format("where a number from {} to {} is needed", range.least, range.most));
  }
  return number;
}

double JsonFields::real(std::string_view key, RealRange range) const {
  return real_in(at(key), key, range);
}

std::optional<double> JsonFields::real_if(std::string_view key, RealRange range) const {
  if (!has(key)) return {};
  return real(key, range);
}

std::optional<bool> JsonFields::flag_if(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_boolean()) refuse_value(*value, key, "where true or false is needed");
  return value->get<bool>();
}

const json* JsonFields::list_if(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) refuse_value(*value, key, "where a list is needed");
  if (value->size() > longest_list) refuse_value(*value, key, "longer than any such list is");
  return value;
}

std::vector<double> JsonFields::reals_if(std::string_view key, RealRange range) const {
  std::vector<double> numbers;
  if (const json* list = list_if(key)) {
    for (const json& value : *list) numbers.push_back(real_in(value, key, range));
  }
  return numbers;
}

std::vector<std::optional<double>> JsonFields::reals_or_nulls(std::string_view key,
                                                              RealRange range) const {
  std::vector<std::optional<double>> numbers;
  if (const json* list = list_if(key)) {
    for (const json& value : *list) {
      if (value.is_null()) {
        numbers.emplace_back();
      } else {
        numbers.emplace_back(real_in(value, key, range));
      }
    }
  }
  return numbers;
}

std::vector<std::string> JsonFields::texts_if(std::string_view key) const {
  std::vector<std::string> texts;
  if (const json* list = list_if(key)) {
    for (const json& value : *list) {
      if (!value.is_string()) refuse_value(value, key, "where a list of texts is needed");
      texts.push_back(value.get<std::string>());
    }
  }
  return texts;
}

JsonFields JsonFields::object(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_object()) refuse_value(value, key, "where an object is needed");
  return {value, place_, name(key)};
}

std::optional<JsonFields> JsonFields::object_if(std::string_view key) const {
  if (!has(key)) return {};
  return object(key);
}

std::vector<JsonFields> JsonFields::objects(std::string_view key, std::size_t most) const {
  std::vector<JsonFields> all;
  (void)at(key);
  const json& list = *list_if(key);
  if (list.size() > most) {
    refuse_value(list, key, fmt::format("of {}, where {} at most are needed", list.size(), most));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object()) refuse_value(list[i], key, "where a list of objects is needed");
    all.emplace_back(list[i], place_, fmt::format("{}[{}]", name(key), i));
  }
  return all;
}

std::map<std::string, std::string> JsonFields::plain_values() const {
  constexpr int deepest = 8;
  std::map<std::string, std::string> fields;
  std::vector<NestedValue> left{{"", object_, 0}};
  while (!left.empty()) {
    const NestedValue next = std::move(left.back());
    left.pop_back();
    if (next.value->is_array() || next.depth > deepest) continue;
    if (!next.value->is_object()) {
      fields[next.name] = python_text(*next.value);
      continue;
    }
    for (const auto& [key, part] : next.value->items()) {
      std::string name = next.name.empty() ? key : fmt::format("{}.{}", next.name, key);
      left.push_back({std::move(name), &part, next.depth + 1});
    }
  }
  return fields;
}

void for_each_line(const fs::path& path, FileKind kind, std::string_view what,
                   const std::function<void(const JsonFields& line)>& visit) {
  refuse_large(path, what);
  refuse_other_kind(path, kind);
  std::istringstream stream(read_input(path, fmt::format("Name a file of {} (*.jsonl).", what)));
  std::size_t number = 0;
  bool any = false;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (is_blank(line)) continue;
    any = true;
    const Place place{fmt::format("{}:{}", path.string(), number), stream.eof()};
    try {
      const json object = parse_line(line, place, what);
      visit(JsonFields(object, place.text));
    } catch (const ConfigError& error) {
      throw ConfigError(without_controls(error.what()));
    }
  }
  if (!any) {
    throw ConfigError(
        fmt::format("{} holds no {}. Name a file with one a line.", path.string(), what));
  }
}

}  // namespace dlscale::cases
