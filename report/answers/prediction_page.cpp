#include "report/answers/prediction_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/results/json_count.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/parallel_words.hpp"
#include "report/answers/prediction_verdict.hpp"
#include "report/figure/speedup_lines.hpp"
#include "report/figure/stacked_bars.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/table/interval.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

/// A part of an iteration: its key in "time", its heading, and a word for it.
struct PredictedPart {
  const char* key;
  const char* heading;
  const char* word;
};
constexpr std::array predicted_parts{PredictedPart{"t_io_s", "io ms", "input"},
                                     PredictedPart{"t_h2d_s", "h2d ms", "copy"},
                                     PredictedPart{"t_f_s", "forward ms", "forward"},
                                     PredictedPart{"t_b_s", "backward ms", "backward"},
                                     PredictedPart{"t_comm_exposed_s", "comm ms", "communication"},
                                     PredictedPart{"t_u_s", "update ms", "update"},
                                     PredictedPart{"t_iter_s", "iteration ms", "iteration"}};

std::string in_ms(const Json& seconds) {
  return seconds.is_null() ? "–" : milliseconds(Seconds(seconds.get<double>()));
}

const Json& rows_of(const Json& answer) {
  return answer.at(answer.contains("predictions") ? "predictions" : "rows");
}

std::vector<Cell> question_of(const Json& row) {
  const Json& run = row.at("run");
  return {
      {run.at("ranks").dump()}, {run.at("batch").dump()}, {run.at("schedule").get<std::string>()}};
}

std::vector<Column> question_columns() {
  return {{"ranks"}, {"images per rank"}, {"schedule", Align::left}};
}

/// A value with the interval that answers of earlier versions lack.
std::string with_ends(const Json& row, const std::string& key, const auto& text) {
  const auto end = [&](const char* which) -> std::optional<double> {
    const auto found = row.find(key + which);
    if (found == row.end() || !found->is_number()) return {};
    return found->get<double>();
  };
  return text(row.at(key).get<double>(), end("_low"), end("_high"));
}

Table iteration_table(const Json& rows) {
  Table table;
  table.title = "Iterations";
  table.columns = question_columns();
  for (const char* heading :
       {"iteration ms", "90 % interval", "images/s", "speed-up", "efficiency"}) {
    table.columns.push_back({heading});
  }
  table.columns.push_back({"bound by", Align::left});
  for (const Json& row : rows) {
    std::vector<Cell> cells = question_of(row);
    cells.push_back({in_ms(row.at("time").at("t_iter_s"))});
    cells.push_back({from_to(in_ms(row.at("t_iter_low_s")), in_ms(row.at("t_iter_high_s")))});
    cells.push_back({rate_text(row.at("images_per_s").get<double>())});
    cells.push_back({with_ends(row, "speedup", speedup_text)});
    cells.push_back({with_ends(row, "efficiency", efficiency_text)});
    cells.push_back({row.at("bound").get<std::string>()});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table part_table(const Json& rows) {
  Table table;
  table.title = "Parts of an iteration";
  table.columns = question_columns();
  for (const PredictedPart& part : predicted_parts) table.columns.push_back({part.heading});
  for (const Json& row : rows) {
    std::vector<Cell> cells = question_of(row);
    for (const PredictedPart& part : predicted_parts) {
      cells.push_back({in_ms(row.at("time").at(part.key))});
    }
    table.rows.push_back(std::move(cells));
  }
  table.notes = {"comm is what the backward pass does not hide"};
  return table;
}

Table prediction_records(const Json& rows) {
  Table records;
  for (const char* key : {"network", "cluster", "ranks", "batch", "dtype", "schedule"}) {
    records.columns.push_back({key, Align::left, Meaning::key});
  }
  for (const char* key : {"t_iter_s", "t_iter_low_s", "t_iter_high_s", "images_per_s", "speedup"}) {
    records.columns.push_back({key, Align::right, Meaning::value});
  }
  const auto plain = [](const Json& value) {
    if (value.is_null()) return std::string();
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  for (const Json& row : rows) {
    std::vector<Cell> cells;
    for (const Column& column : records.columns) {
      const Json& source = column.meaning == Meaning::key ? row.at("run")
                           : column.heading == "t_iter_s" ? row.at("time")
                                                          : row;
      cells.push_back({plain(source.at(column.heading))});
    }
    records.rows.push_back(std::move(cells));
  }
  return records;
}

/// The row of most samples a second.
const Json& fastest(const Json& rows) {
  const auto slower = [](const Json& a, const Json& b) {
    return a.at("images_per_s").get<double>() < b.at("images_per_s").get<double>();
  };
  return *std::max_element(rows.begin(), rows.end(), slower);
}

std::string word_of(const Json& row, const char* key) {
  return row.at("run").at(key).get<std::string>();
}

std::vector<Tile> prediction_tiles(const Json& row) {
  const std::string interval = iteration_interval(row);
  const double exposed = row.at("time").at("t_comm_exposed_s").get<double>();
  const std::string rates = rate_interval(row);
  return {
      {fmt::format("Iteration of {} {} a rank", row.at("run").at("batch").dump(), samples_of(row)),
       to_text(Seconds(iteration_of(row))), interval.empty() ? "no interval" : interval + " (90 %)",
       Tone::plain},
      {"Throughput",
       fmt::format("{} {}/s", rate_text(row.at("images_per_s").get<double>()), samples_of(row)),
       rates.empty() ? "no interval" : rates + " (90 %)", Tone::plain},
      {"Speed-up over one rank", significant(row.at("speedup").get<double>(), 3) + " ×",
       speedup_detail(row), Tone::plain},
      {"Bound by", row.at("bound").get<std::string>(),
       fmt::format("exposed communication {} of the iteration",
                   percent(exposed / iteration_of(row))),
       Tone::plain}};
}

/// Whether all parts have times from these sources (time_source_name()). A row that names no source
/// rests on none.
bool rests_only_on(const Json& rows, std::initializer_list<std::string_view> sources) {
  for (const Json& row : rows) {
    bool is_named = false;
    for (const Json& source : row.at("basis")) {
      if (!source.is_string()) continue;
      const auto name = source.get<std::string>();
      if (std::ranges::find(sources, name) == sources.end()) return false;
      is_named = true;
    }
    if (!is_named) return false;
  }
  return true;
}

/// The setting of a row without its ranks: "batch 32, bucketed".
std::string setting_of(const Json& row) {
  return fmt::format("batch {}, {}", row.at("run").at("batch").dump(), word_of(row, "schedule"));
}

std::optional<Figure> speedup_figure(const Json& rows) {
  std::vector<figure::SpeedupLine> lines;
  for (const Json& row : rows) {
    const std::string setting = setting_of(row);
    auto line = std::ranges::find(lines, setting, &figure::SpeedupLine::name);
    if (line == lines.end()) line = lines.insert(lines.end(), {setting, {}, {}});
    line->points.push_back({json_count<int>(row.at("run").at("ranks"), "ranks"),
                            row.at("speedup").get<double>(), number_in(row, "speedup_low"),
                            number_in(row, "speedup_high"),
                            row.at("bound").get<std::string>() == "communication"});
  }
  for (figure::SpeedupLine& line : lines) {
    std::ranges::stable_sort(line.points, {}, &figure::SpeedupPoint::ranks);
  }
  if (lines.size() == 1) lines.front().name.clear();
  return figure::speedup_lines(lines);
}

std::optional<Figure> parts_figure(const Json& rows) {
  figure::StackedBars bars{"iteration", "Where the time of an iteration goes",
                           "time of an iteration, ms (lower is better)", "90 % interval"};
  const bool one_setting = std::all_of(rows.begin(), rows.end(), [&rows](const Json& row) {
    return setting_of(row) == setting_of(rows.at(0));
  });
  for (const Json& row : rows) {
    figure::StackedBar bar{ranks_of(row), one_setting ? "" : setting_of(row)};
    bar.low = number_in(row, "t_iter_low_s");
    bar.high = number_in(row, "t_iter_high_s");
    for (const PredictedPart& part : predicted_parts) {
      if (std::string_view(part.key) == "t_iter_s") continue;
      const Json& seconds = row.at("time").at(part.key);
      bar.parts.push_back({part.word, seconds.is_null() ? 0 : seconds.get<double>()});
    }
    bars.bars.push_back(std::move(bar));
  }
  return figure::stacked_bars(bars);
}

Page page_of_predictions(const Json& answer) {
  const Json& rows = rows_of(answer);
  Page page = prediction_opening(answer);
  page.data = prediction_badge(rows, is_measured(answer));
  page.data_section = "notes";
  for (auto figure : {speedup_figure(rows), parts_figure(rows)}) {
    if (figure) page.figures.push_back(std::move(*figure));
  }
  page.picture = page.figures.empty() ? "" : page.figures.front().name;
  page.sections = {{"parts", "Where the time goes", {FigureSlot{"iteration"}, part_table(rows)}},
                   {"predicted", "All iterations", {iteration_table(rows)}},
                   {"notes", "What this rests on", {prediction_notes(rows)}}};
  return page;
}

/// The largest batch that fits where the row's memory is short, 0 if none does; empty if it fits.
std::optional<int> largest_batch(const Json& row) {
  for (const Json& note : row.at("notes")) {
    const auto kind = note.at("kind").get<std::string>();
    if (kind == "memory_too_small") return 0;
    if (kind == "memory_short" && note.contains("largest_batch")) {
      return json_count<int>(note.at("largest_batch"), "largest_batch");
    }
  }
  return {};
}

}  // namespace

Page prediction_opening(const Json& answer) {
  const Json& rows = rows_of(answer);
  const Json& best = fastest(rows);
  Page page;
  page.kind = "prediction";
  page.question = fmt::format("How fast does {} train on {}?", word_of(best, "network"),
                              word_of(best, "cluster"));
  page.verdict = prediction_verdict(rows, best);
  page.tiles = prediction_tiles(best);
  return page;
}

Badge prediction_badge(const Json& rows, bool measured) {
  if (rests_only_on(rows, {"measured", "fitted"})) {
    return good_data("every part was measured with these batches and ranks.");
  }
  const bool sheets = rests_only_on(rows, {"data sheet"});
  const std::string basis = measured || sheets
                                ? basis_of_sheets(measured)
                                : "some parts were measured otherwise, and are carried over";
  const char* const what = rows.size() == 1 ? "the iteration" : "an iteration";
  for (const Json& row : rows) {
    const TimeRange time{iteration_of(row), number_in(row, "t_iter_low_s"),
                         number_in(row, "t_iter_high_s")};
    if (!interval_doubt(time, what).empty()) return interval_badge(basis, what, time);
  }
  return usable_data(basis + ".");
}

Items prediction_notes(const Json& rows) {
  std::vector<std::pair<std::string, std::set<int>>> notes;
  std::set<int> all;
  for (const Json& row : rows) {
    const int ranks = json_count<int>(row.at("run").at("ranks"), "ranks");
    all.insert(ranks);
    for (const Json& note : row.at("notes")) {
      const std::string text = note.at("text").get<std::string>();
      auto known = std::ranges::find(notes, text, &std::pair<std::string, std::set<int>>::first);
      if (known == notes.end()) known = notes.insert(notes.end(), {text, {}});
      known->second.insert(ranks);
    }
  }
  Items items;
  for (const auto& [text, ranks] : notes) {
    items.lines.push_back(
        ranks == all ? text : fmt::format("ranks {}: {}", ranks_among(ranks, all), text));
  }
  return items;
}

SuggestedRun suggested_run(const Json& answer) {
  const Json& rows = rows_of(answer);
  const Json& row = fastest(rows);
  const Json& run = row.at("run");
  return {word_of(row, "network"),
          rests_only_on(rows, {"data sheet"}) ? word_of(row, "cluster") : "",
          word_of(row, "schedule"),
          row.at("bound").get<std::string>(),
          samples_of(row) == "images" ? "IMAGES" : "SEQUENCES",
          json_count<int>(run.at("ranks"), "ranks"),
          json_count<int>(run.at("batch"), "batch"),
          largest_batch(row)};
}

AnswerPage prediction_page(const std::string& text, const std::string& file) {
  return page_of_answer(text, file, "predictions", [](const Json& answer) {
    const Json& rows = rows_of(answer);
    AnswerPage made{page_of_predictions(answer), {}};
    made.document.tables = {iteration_table(rows), part_table(rows)};
    made.document.records = prediction_records(rows);
    return made;
  });
}

}  // namespace dlscale::report
