#include "report/format/file_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/system/output_file.hpp"
#include "report/format/column_meaning.hpp"

namespace dlscale::report::format {
namespace {

using nlohmann::json;

/// The last line of a file for people; empty for formats that state their kind elsewhere.
std::string closing_line(std::string_view format, const Document& document) {
  if (format == "table") return fmt::format("({})\n", kind_of(document));
  if (format == "markdown" || format == "comment")
    return fmt::format("<!-- {} -->\n", kind_of(document));
  return "";
}

bool ends_with(std::istream& content, std::string_view ending) {
  content.clear();
  content.seekg(0, std::ios::end);
  const std::streamoff size = content.tellg();
  const auto length = static_cast<std::streamoff>(ending.size());
  if (size < length) return false;
  content.seekg(size - length);
  std::string last(ending.size(), ' ');
  content.read(last.data(), length);
  return last == ending;
}

bool starts_with(std::istream& content, std::string_view opening) {
  content.clear();
  content.seekg(0);
  std::string first(opening.size(), ' ');
  content.read(first.data(), static_cast<std::streamsize>(first.size()));
  return content && first == opening;
}

/// Start of a file in formats whose first words name the kind.
std::string junit_opening(const Document& document) {
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\"",
                     kind_of(document));
}

std::string openmetrics_opening(const Document& document) {
  return fmt::format("# TYPE {} info\n", plain_kind_of(document));
}

std::string csv_heading(const Document& document) {
  Document headings;
  headings.records.columns = document.records.columns;
  return find_format("csv").write(headings, {});
}

/// Whether a non-empty object has values that all satisfy `holds(key, value)`.
template <class Holds>
bool all_members(const json& object, const Holds& holds) {
  return object.is_object() && !object.empty() &&
         std::ranges::all_of(object.items(),
                             [&](const auto& it) { return holds(it.key(), it.value()); });
}

bool is_measure(const std::string& name, const json& measure) {
  constexpr std::array<std::string_view, 3> keys{"value", "lower_value", "upper_value"};
  return !name.empty() && measure.contains("value") &&
         all_members(measure, [&](const std::string& key, const json& number) {
           return is_among(keys, key) && number.is_number();
         });
}

bool is_benchmark(const std::string& name, const json& benchmark) {
  return !name.empty() && all_members(benchmark, is_measure);
}

}  // namespace

std::string file_text(const Format& format, const Document& document) {
  const std::string text = format.write(document, {});
  const std::string closing = closing_line(format.name, document);
  return closing.empty() ? text : text + "\n" + closing;
}

bool is_of_kind(std::istream& content, const Document& document) {
  return opens_with_schema(content, kind_of(document)) ||
         starts_with(content, csv_heading(document)) ||
         starts_with(content, junit_opening(document)) ||
         starts_with(content, openmetrics_opening(document)) ||
         ends_with(content, closing_line("table", document)) ||
         ends_with(content, closing_line("markdown", document));
}

bool is_bencher_metrics(std::istream& content) {
  content.clear();
  content.seekg(0);
  const json metrics = json::parse(content, nullptr, false);
  return metrics == json::object() || all_members(metrics, is_benchmark);
}

bool may_replace(std::istream& content, const Document& document, const Format& format) {
  return is_of_kind(content, document) || (format.name == "bencher" && is_bencher_metrics(content));
}

}  // namespace dlscale::report::format
