#include "report/answers/answer_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::report {
namespace {

std::string plain(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// A value in the unit that the ending of its key names.
std::string shown(const std::string& key, const Json& value) {
  if (!value.is_number()) return plain(value);
  const auto number = value.get<double>();
  if (key.ends_with("_s")) return to_text(Seconds(number));
  if (key.ends_with("_bytes")) return to_text(Bytes(number));
  if (key == "share" || key == "busy") return percent(number);
  return value.is_number_integer() ? value.dump() : significant(number, 4);
}

/// "iteration without" of "t_iter_without_s".
std::string heading_of(std::string key) {
  for (const char* ending : {"_s", "_bytes"}) {
    if (key.ends_with(ending)) key.resize(key.size() - std::string_view(ending).size());
  }
  if (key.starts_with("t_iter")) key = "iteration" + key.substr(6);
  std::ranges::replace(key, '_', ' ');
  return key;
}

/// Throws ConfigError unless each list of what was asked holds something, and stages of its plans.
void expect_rows(const Json& answer) {
  const auto expect_list = [](const Json& object, const char* key) {
    const auto list = object.find(key);
    if (list == object.end() || (list->is_array() && !list->empty())) return;
    throw ConfigError(fmt::format("its list \"{}\" is empty, or not a list", key));
  };
  for (const char* key : {"predictions", "rows", "plans", "trainings", "best", "explanations"}) {
    expect_list(answer, key);
  }
  const std::string schema = answer.value("schema", "");
  if (schema != "dlscale.parallel_memory" && !schema.starts_with("dlscale.stages_")) return;
  for (const Json& plan : answer.at("plans")) expect_list(plan, "stages");
}

/// Throws ConfigError unless times of iterations and trainings, rates, speed-ups and ranks are
/// above 0, at any depth.
void expect_above_zero(const Json& answer) {
  constexpr std::array<std::string_view, 11> keys{
      "t_iter_s",  "t_iter_high_s", "images_per_s", "tokens_per_s", "samples_per_s",
      "speedup",   "speedup_high",  "training_s",   "ranks",        "time_to_train_s",
      "with_failures_s"};
  std::vector<const Json*> open{&answer};  // not by recursion: files may nest without end
  while (!open.empty()) {
    const Json& object = *open.back();
    open.pop_back();
    for (const auto& [key, value] : object.items()) {
      if (value.is_structured()) open.push_back(&value);
      if (!value.is_number() || std::ranges::find(keys, key) == keys.end()) continue;
      if (value.get<double>() > 0) continue;
      throw ConfigError(fmt::format("its \"{}\" is {}, not above 0", key, value.dump()));
    }
  }
}

/// The message of the parser without its number, "[json.exception.out_of_range.403] "; a missing
/// key is named as what it is to a reader.
std::string message_of(const std::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  if (!text.starts_with("[json.exception.") || end == std::string::npos) return text;
  const std::string message = text.substr(end + 2);
  constexpr std::string_view opening = "key '";
  constexpr std::string_view ending = "' not found";
  if (!message.starts_with(opening) || !message.ends_with(ending)) return message;
  const std::size_t length = message.size() - opening.size() - ending.size();
  return fmt::format("it lacks \"{}\"; another version of dlscale may have written it",
                     message.substr(opening.size(), length));
}

/// Rows of a table, or lines of a list, on the page of an answer.
constexpr std::size_t most_rows = 250;

/// Cuts long tables and lists of a page, and says in which file all of their rows are.
struct Shortened {
  const std::string* file;

  [[nodiscard]] std::string said(std::size_t all, const char* what) const {
    return fmt::format("The page shows the first {} of {} {}; {} has all.", most_rows,
                       grouped(static_cast<long long>(all)), what, *file);
  }
  void operator()(Table& table) const {
    const std::size_t all = table.rows.size();
    if (all <= most_rows) return;
    table.rows.resize(most_rows);
    table.notes.insert(table.notes.begin(), said(all, "rows"));
  }
  void operator()(Folded& folded) const { (*this)(folded.table); }
  void operator()(Items& items) const {
    const std::size_t all = items.lines.size();
    if (all <= most_rows) return;
    items.lines.resize(most_rows);
    items.lines.push_back(said(all, "lines"));
  }
  void operator()(auto& /*other*/) const {}
};

/// Keeps the page and what a terminal shows small however many rows the answer has.
void shorten(AnswerPage& made, const std::string& file) {
  for (Section& section : made.page.sections) {
    for (Block& block : section.blocks) std::visit(Shortened{&file}, block);
  }
  for (Figure& figure : made.page.figures) Shortened{&file}(figure.data);
  for (Table& table : made.document.tables) table.most_shown = most_on_terminal;
}

}  // namespace

AnswerPage page_of_answer(const std::string& text, const std::string& file, const char* what,
                          const std::function<AnswerPage(const Json&)>& make) {
  try {
    const Json answer = Json::parse(text);
    expect_rows(answer);
    expect_above_zero(answer);
    AnswerPage made = make(answer);
    shorten(made, file);
    made.document.lead = made.page.verdict;
    made.document.json = JsonText(text);
    return made;
  } catch (const std::exception& error) {  // of the parser, or ConfigError
    throw unreadable_answer(file, what, error);
  }
}

ConfigError unreadable_answer(const std::string& file, const char* what,
                              const std::exception& error) {
  return ConfigError(
      fmt::format("{} holds no {} that can be read ({}). Ask again, in the format json.", file,
                  what, message_of(error)));
}

std::optional<double> number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return {};
  return found->get<double>();
}

Table table_of_objects(const Json& objects, std::string title,
                       const std::vector<std::string>& keys) {
  Table table{std::move(title), {}, {}, {}};
  table.rows.resize(objects.size());
  for (const std::string& key : keys) {
    const auto has_value = [&key](const Json& object) {
      return object.contains(key) && !plain(object.at(key)).empty();
    };
    const auto first = std::find_if(objects.begin(), objects.end(), has_value);
    if (first == objects.end()) continue;
    table.columns.push_back(
        {heading_of(key), first->at(key).is_string() ? Align::left : Align::right});
    for (std::size_t i = 0; i < objects.size(); ++i) {
      table.rows[i].push_back({has_value(objects[i]) ? shown(key, objects[i].at(key)) : ""});
    }
  }
  return table;
}

Table records_of_objects(const std::vector<Json>& objects, const std::vector<std::string>& keys,
                         const std::vector<std::string>& values) {
  Table records;
  for (const std::string& key : keys) records.columns.push_back({key, Align::left, Meaning::key});
  for (const std::string& value : values) {
    records.columns.push_back({value, Align::right, Meaning::value});
  }
  for (const Json& object : objects) {
    std::vector<Cell> cells;
    for (const Column& column : records.columns)
      cells.push_back({plain(object.at(column.heading))});
    records.rows.push_back(std::move(cells));
  }
  return records;
}

}  // namespace dlscale::report
