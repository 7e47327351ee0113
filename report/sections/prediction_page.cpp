#include "report/sections/prediction_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/results/json_count.hpp"
#include "core/text/numbers.hpp"
#include "report/prediction/iteration_fields.hpp"

namespace dlscale::report {
namespace {

using nlohmann::json;

/// A part of an iteration: its key in "time", and its heading.
struct PredictedPart {
  const char* key;
  const char* heading;
};
constexpr std::array predicted_parts{PredictedPart{"t_io_s", "io ms"},
                                     PredictedPart{"t_h2d_s", "h2d ms"},
                                     PredictedPart{"t_f_s", "forward ms"},
                                     PredictedPart{"t_b_s", "backward ms"},
                                     PredictedPart{"t_comm_exposed_s", "comm ms"},
                                     PredictedPart{"t_u_s", "update ms"},
                                     PredictedPart{"t_iter_s", "iteration ms"}};

std::string in_ms(const json& seconds) {
  return seconds.is_null() ? "–" : milliseconds(Seconds(seconds.get<double>()));
}

const json& rows_of(const json& answer) {
  return answer.at(answer.contains("predictions") ? "predictions" : "rows");
}

std::vector<Cell> question_of(const json& row) {
  const json& run = row.at("run");
  return {
      {run.at("ranks").dump()}, {run.at("batch").dump()}, {run.at("schedule").get<std::string>()}};
}

std::vector<Column> question_columns() {
  return {{"ranks"}, {"images per rank"}, {"schedule", Align::left}};
}

/// A value with the interval that answers of earlier versions lack.
std::string with_ends(const json& row, const std::string& key, const auto& text) {
  const auto end = [&](const char* which) -> std::optional<double> {
    const auto found = row.find(key + which);
    if (found == row.end() || !found->is_number()) return {};
    return found->get<double>();
  };
  return text(row.at(key).get<double>(), end("_low"), end("_high"));
}

Table iteration_table(const json& rows) {
  Table table;
  table.title = "Iterations";
  table.columns = question_columns();
  for (const char* heading :
       {"iteration ms", "90 % interval", "images/s", "speed-up", "efficiency"}) {
    table.columns.push_back({heading});
  }
  table.columns.push_back({"bound by", Align::left});
  for (const json& row : rows) {
    std::vector<Cell> cells = question_of(row);
    cells.push_back({in_ms(row.at("time").at("t_iter_s"))});
    cells.push_back(
        {fmt::format("{} – {}", in_ms(row.at("t_iter_low_s")), in_ms(row.at("t_iter_high_s")))});
    cells.push_back({significant(row.at("images_per_s").get<double>(), 4)});
    cells.push_back({with_ends(row, "speedup", speedup_text)});
    cells.push_back({with_ends(row, "efficiency", efficiency_text)});
    cells.push_back({row.at("bound").get<std::string>()});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table part_table(const json& rows) {
  Table table;
  table.title = "Parts of an iteration";
  table.columns = question_columns();
  for (const PredictedPart& part : predicted_parts) table.columns.push_back({part.heading});
  for (const json& row : rows) {
    std::vector<Cell> cells = question_of(row);
    for (const PredictedPart& part : predicted_parts) {
      cells.push_back({in_ms(row.at("time").at(part.key))});
    }
    table.rows.push_back(std::move(cells));
  }
  table.notes = {"comm is what the backward pass does not hide"};
  return table;
}

/// Each note once, with the ranks to which it applies unless these are all.
Items notes_of(const json& rows) {
  std::vector<std::pair<std::string, std::set<int>>> notes;
  std::set<int> all;
  for (const json& row : rows) {
    const int ranks = json_count<int>(row.at("run").at("ranks"), "ranks");
    all.insert(ranks);
    for (const json& note : row.at("notes")) {
      const std::string text = note.at("text").get<std::string>();
      auto known = std::ranges::find(notes, text, &std::pair<std::string, std::set<int>>::first);
      if (known == notes.end()) known = notes.insert(notes.end(), {text, {}});
      known->second.insert(ranks);
    }
  }
  Items items;
  for (const auto& [text, ranks] : notes) {
    items.lines.push_back(ranks == all ? text
                                       : fmt::format("ranks {}: {}", fmt::join(ranks, ", "), text));
  }
  return items;
}

Table prediction_records(const json& rows) {
  Table records;
  for (const char* key : {"network", "cluster", "ranks", "batch", "dtype", "schedule"}) {
    records.columns.push_back({key, Align::left, Meaning::key});
  }
  for (const char* key : {"t_iter_s", "t_iter_low_s", "t_iter_high_s", "images_per_s", "speedup"}) {
    records.columns.push_back({key, Align::right, Meaning::value});
  }
  const auto plain = [](const json& value) {
    if (value.is_null()) return std::string();
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  for (const json& row : rows) {
    std::vector<Cell> cells;
    for (const Column& column : records.columns) {
      const json& source = column.meaning == Meaning::key ? row.at("run")
                           : column.heading == "t_iter_s" ? row.at("time")
                                                          : row;
      cells.push_back({plain(source.at(column.heading))});
    }
    records.rows.push_back(std::move(cells));
  }
  return records;
}

PredictionPage page_of(const json& answer, const std::string& text) {
  const json& rows = rows_of(answer);
  const json& run = rows.at(0).at("run");
  PredictionPage page;
  page.title = fmt::format("{}{} on {}", prediction_title, run.at("network").get<std::string>(),
                           run.at("cluster").get<std::string>());
  Table iterations = iteration_table(rows);
  Table parts = part_table(rows);
  page.document.lead = page.title.substr(std::string_view("dlscale: ").size());
  page.document.tables = {iterations, parts};
  page.document.records = prediction_records(rows);
  page.document.json = JsonText(text);
  Section answers{"predicted", "Predicted iterations", {}};
  answers.blocks.emplace_back(std::move(iterations));
  Section shares{"parts", "Where the time goes", {}};
  shares.blocks.emplace_back(std::move(parts));
  Section notes{"notes", "What this rests on", {}};
  notes.blocks.emplace_back(notes_of(rows));
  page.sections = {std::move(answers), std::move(shares), std::move(notes)};
  return page;
}

}  // namespace

PredictionPage prediction_page(const std::string& text, const std::string& file) {
  try {
    return page_of(json::parse(text), text);
  } catch (const std::exception& error) {  // of the parser, or ConfigError
    throw ConfigError(
        fmt::format("{} holds no predictions that can be read ({}). Predict again, in the format "
                    "json.",
                    file, error.what()));
  }
}

}  // namespace dlscale::report
