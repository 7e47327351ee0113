#include "model/published/cases/prediction.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/words.hpp"
#include "model/published/cases/json_fields.hpp"

namespace dlscale::cases {
namespace {

using Json = nlohmann::ordered_json;
using Numbers = std::vector<std::optional<double>>;

// Within this range, errors and conversions between units stay finite.
constexpr RealRange values{1e-50, 1e50};
constexpr RealRange bounds{0, 1e50};

constexpr std::array units{CaseUnit::samples_per_s, CaseUnit::iteration_s, CaseUnit::time_s};

std::optional<CaseUnit> unit_of(const JsonFields& line) {
  std::optional<CaseUnit> unit;
  for (const CaseUnit candidate : units) {
    if (!line.has(to_string(candidate))) continue;
    if (unit) {
      line.refuse(to_string(candidate),
                  fmt::format("beside {}: one of both is enough", to_string(*unit)));
    }
    unit = candidate;
  }
  return unit;
}

/// One number, or one for each size of a curve.
Numbers read_numbers(const JsonFields& line, std::string_view key, CaseUnit unit, RealRange range) {
  if (unit == CaseUnit::time_s) return line.reals_or_nulls(key, range);
  return {line.real_if(key, range)};
}

/// Reads low or high, with as many numbers as values.
Numbers read_bounds(const JsonFields& line, std::string_view key, CaseUnit unit,
                    std::size_t count) {
  if (!line.has(key)) return Numbers(count);
  Numbers read = read_numbers(line, key, unit, bounds);
  if (read.size() != count) {
    line.refuse(key, fmt::format("of {}, and there are {} values", read.size(), count));
  }
  return read;
}

void read_values(const JsonFields& line, CasePrediction& read) {
  const Numbers found = read_numbers(line, to_string(read.unit), read.unit, values);
  if (found.empty()) line.refuse(to_string(read.unit), "which holds nothing");
  const Numbers low = read_bounds(line, "low", read.unit, found.size());
  const Numbers high = read_bounds(line, "high", read.unit, found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    read.values.emplace_back();
    if (!found[i]) continue;
    if (low[i].has_value() != high[i].has_value()) {
      line.refuse(low[i] ? "low" : "high", "and the other end of the interval is missing");
    }
    if (high[i] && (*high[i] <= 0 || *low[i] > *high[i])) {
      line.refuse("high", "which is not above low");
    }
    read.values.back() = PredictedValue{*found[i], low[i], high[i]};
  }
}

/// Throws if the line belongs to another kind of file.
void expect_any_answer(const JsonFields& line) {
  const auto is_mentioned = [&](CaseUnit unit) { return line.mentions(to_string(unit)); };
  if (line.has("status") || std::ranges::any_of(units, is_mentioned)) return;
  line.refuse("id", "and neither samples_per_s, iteration_s, time_s nor a status is given");
}

PredictionStatus read_status(const JsonFields& line, bool has_value) {
  if (!line.has("status")) {
    return has_value ? PredictionStatus::ok : PredictionStatus::not_covered;
  }
  constexpr std::array all{PredictionStatus::ok, PredictionStatus::outside_domain,
                           PredictionStatus::not_covered};
  try {
    return parse_word("status", line.text("status"), all, to_string);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", line.where("status"), error.what()));
  }
}

CasePrediction read_prediction(const JsonFields& line) {
  line.expect_spelling(
      {"id", "samples_per_s", "iteration_s", "time_s", "low", "high", "terms", "status", "reason"});
  CasePrediction read;
  read.id = line.text("id");
  expect_any_answer(line);
  const std::optional<CaseUnit> unit = unit_of(line);
  read.status = read_status(line, unit.has_value());
  if (unit.has_value() == (read.status == PredictionStatus::not_covered)) {
    line.refuse("status", unit ? "but a value is given" : "but the value is missing");
  }
  read.reason = line.text_if("reason");
  if (unit) {
    read.unit = *unit;
    read_values(line, read);
  }
  if (!line.has("terms")) return read;
  for (const JsonFields& term : line.objects("terms", 1000)) {
    term.expect_spelling({"name", "time_s", "basis"});
    read.terms.push_back(
        {term.text("name"), Seconds(term.real("time_s", bounds)), term.text_if("basis")});
  }
  return read;
}

double finite(double value) {
  EXPECT(std::isfinite(value));
  return value;
}

Json optional_number(const std::optional<double>& value) {
  return value ? Json(finite(*value)) : Json(nullptr);
}

void write_values(const CasePrediction& prediction, Json& line) {
  Json found = Json::array();
  Json low = Json::array();
  Json high = Json::array();
  for (const auto& value : prediction.values) {
    found.push_back(value ? Json(finite(value->value)) : Json(nullptr));
    low.push_back(value ? optional_number(value->low) : Json(nullptr));
    high.push_back(value ? optional_number(value->high) : Json(nullptr));
  }
  const bool is_curve = prediction.unit == CaseUnit::time_s;
  EXPECT(is_curve || prediction.values.size() == 1);
  line[std::string(to_string(prediction.unit))] = is_curve ? found : found.front();
  line["low"] = is_curve ? low : low.front();
  line["high"] = is_curve ? high : high.front();
}

/// "speedup" and "efficiency", each with its interval.
void write_speedup(const PredictedValue& predicted, const ScaledFrom& from, Json& line) {
  const double share = static_cast<double>(from.gpus) / from.to_gpus;
  line["speedup_over_gpus"] = from.gpus;
  for (const auto& [key, scale] : {std::pair("speedup", 1.0), std::pair("efficiency", share)}) {
    const auto scaled = [&, by = scale / from.samples_per_s](double rate) {
      return finite(rate * by);
    };
    line[key] = scaled(predicted.value);
    if (!predicted.low || !predicted.high) continue;
    line[fmt::format("{}_low", key)] = scaled(*predicted.low);
    line[fmt::format("{}_high", key)] = scaled(*predicted.high);
  }
}

Json line_of(const CasePrediction& prediction) {
  Json line;
  line["id"] = prediction.id;
  if (!prediction.values.empty()) write_values(prediction, line);
  if (prediction.from && !prediction.values.empty() && prediction.values.front()) {
    write_speedup(*prediction.values.front(), *prediction.from, line);
  }
  line["status"] = to_string(prediction.status);
  if (!prediction.reason.empty()) line["reason"] = prediction.reason;
  if (prediction.terms.empty()) return line;
  line["terms"] = Json::array();
  for (const PredictedTerm& term : prediction.terms) {
    Json written;
    written["name"] = term.name;
    written["time_s"] = finite(term.time.si());
    if (!term.basis.empty()) written["basis"] = term.basis;
    line["terms"].push_back(std::move(written));
  }
  return line;
}

}  // namespace

std::string_view to_string(PredictionStatus status) {
  switch (status) {
    case PredictionStatus::ok:
      return "ok";
    case PredictionStatus::outside_domain:
      return "outside_domain";
    case PredictionStatus::not_covered:
      return "not_covered";
  }
  return "";
}

std::string_view to_string(CaseUnit unit) {
  switch (unit) {
    case CaseUnit::samples_per_s:
      return "samples_per_s";
    case CaseUnit::iteration_s:
      return "iteration_s";
    case CaseUnit::time_s:
      return "time_s";
  }
  return "";
}

CasePrediction not_covered(std::string id, std::string reason) {
  CasePrediction prediction;
  prediction.id = std::move(id);
  prediction.status = PredictionStatus::not_covered;
  prediction.reason = std::move(reason);
  return prediction;
}

std::vector<CasePrediction> read_predictions(const std::filesystem::path& path) {
  std::vector<CasePrediction> predictions;
  std::map<std::string, std::string> first;  // first place of each id
  for_each_line(path, FileKind::predictions, "predictions", [&](const JsonFields& line) {
    predictions.push_back(read_prediction(line));
    const auto [known, is_new] = first.emplace(predictions.back().id, line.where("id"));
    if (!is_new) line.refuse("id", fmt::format("as in {}", known->second));
  });
  return predictions;
}

std::string prediction_lines(std::span<const CasePrediction> predictions) {
  std::string lines;
  for (const CasePrediction& prediction : predictions) {
    lines += line_of(prediction).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return lines;
}

}  // namespace dlscale::cases
