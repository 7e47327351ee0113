#include "report/answers/answer_json.hpp"

#include <exception>

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::report {
namespace {

using nlohmann::json;

std::string plain(const json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

AnswerPage page_of_answer(const std::string& text, const std::string& file, const char* what,
                          const std::function<AnswerPage(const json&)>& make) {
  try {
    AnswerPage made = make(json::parse(text));
    made.document.lead = made.page.verdict;
    made.document.json = JsonText(text);
    return made;
  } catch (const std::exception& error) {  // of the parser, or ConfigError
    throw ConfigError(
        fmt::format("{} holds no {} that can be read ({}). Ask again, in the format json.", file,
                    what, error.what()));
  }
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
