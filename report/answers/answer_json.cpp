#include "report/answers/answer_json.hpp"

#include <fmt/format.h>

namespace dlscale::report {
namespace {

using nlohmann::json;

std::string plain(const json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Throws ConfigError unless each list of what was asked holds something, and stages of its plans.
void expect_rows(const json& answer) {
  const auto expect_list = [](const json& object, const char* key) {
    const auto list = object.find(key);
    if (list == object.end() || (list->is_array() && !list->empty())) return;
    throw ConfigError(fmt::format("its list \"{}\" is empty, or not a list", key));
  };
  for (const char* key : {"predictions", "rows", "plans", "trainings", "best"}) {
    expect_list(answer, key);
  }
  if (answer.value("schema", "") != "dlscale.parallel_memory") return;
  for (const json& plan : answer.at("plans")) expect_list(plan, "stages");
}

/// The message of the parser without its number: "[json.exception.out_of_range.403] ".
std::string message_of(const std::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  return text.starts_with("[json.exception.") && end != std::string::npos ? text.substr(end + 2)
                                                                          : text;
}

}  // namespace

AnswerPage page_of_answer(const std::string& text, const std::string& file, const char* what,
                          const std::function<AnswerPage(const json&)>& make) {
  try {
    const json answer = json::parse(text);
    expect_rows(answer);
    AnswerPage made = make(answer);
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

std::optional<double> number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return {};
  return found->get<double>();
}

Table records_of_objects(const std::vector<json>& objects, const std::vector<std::string>& keys,
                         const std::vector<std::string>& values) {
  Table records;
  for (const std::string& key : keys) records.columns.push_back({key, Align::left, Meaning::key});
  for (const std::string& value : values) {
    records.columns.push_back({value, Align::right, Meaning::value});
  }
  for (const json& object : objects) {
    std::vector<Cell> cells;
    for (const Column& column : records.columns)
      cells.push_back({plain(object.at(column.heading))});
    records.rows.push_back(std::move(cells));
  }
  return records;
}

}  // namespace dlscale::report
