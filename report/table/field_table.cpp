#include "report/table/field_table.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::report {

Json number(double value) {
  EXPECT(std::isfinite(value));
  return value;
}

Json setting(double value) {
  return Json::parse(exact(value));
}

Json text_or_null(std::string text) {
  return text.empty() ? Json(nullptr) : Json(std::move(text));
}

std::string record_text(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return exact(value.get<double>());
  if (value.is_array()) {
    return fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), "; "));
  }
  return value.dump();
}

namespace as {
namespace {

constexpr const char* absent = "–";

/// The text of a number; "–" for null.
template <class Text>
std::string text_or_dash(const Json& value, Text text) {
  return value.is_null() ? absent : text(value.get<double>());
}

}  // namespace

std::string dash_text(const Json& value) {
  return value.is_null() ? absent : record_text(value);
}

std::string milliseconds_text(const Json& value) {
  return text_or_dash(value, [](double time) { return dlscale::milliseconds(Seconds(time)); });
}

std::string percent_text(const Json& value) {
  return text_or_dash(value, dlscale::percent);
}

std::string signed_percent_text(const Json& value) {
  return text_or_dash(value, dlscale::signed_percent);
}

std::string whole_text(const Json& value) {
  return text_or_dash(value, [](double some) { return fmt::format("{:.0f}", some); });
}

std::string giga_text(const Json& value) {
  return text_or_dash(value, [](double rate) { return dlscale::significant(rate * 1e-9, 4); });
}

std::string significant_text(const Json& value, int digits) {
  return text_or_dash(value, [digits](double some) { return dlscale::significant(some, digits); });
}

}  // namespace as

Cell kept_cell(std::optional<bool> kept) {
  if (!kept) return {"–"};
  return *kept ? Cell{"kept", Tone::good} : Cell{"missed", Tone::bad};
}

std::string_view verdict_word(ExitCode code) {
  if (code == ExitCode::ok) return "passed";
  return code == ExitCode::inconclusive ? "inconclusive" : "failed";
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

JsonText json_answer(std::string schema, std::function<Json()> rest, int version,
                     std::function<void(Json&)> add_drawings) {
  const auto summary = [schema, version, rest = std::move(rest)] {
    Json json{{"schema", schema}, {"version", version}};
    json.update(rest());
    return json;
  };
  const auto text = [summary, add_drawings = std::move(add_drawings)] {
    Json json = summary();
    if (add_drawings) add_drawings(json);
    return dump(json);
  };
  return {std::move(schema), text, summary};
}

}  // namespace dlscale::report
