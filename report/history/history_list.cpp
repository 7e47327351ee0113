#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/text/numbers.hpp"
#include "core/text/time_text.hpp"
#include "report/history/history_table.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

namespace history = regression::history;
using history::ListedSeries;
using history::SeriesKey;

/// One of the latest points of a series.
struct ListRow {
  const ListedSeries* series;
  const history::CommitPoint* commit;
};

std::vector<ListRow> list_rows(std::span<const ListedSeries> series) {
  std::vector<ListRow> rows;
  for (const ListedSeries& each : series) {
    for (const history::CommitPoint& commit : each.latest) rows.push_back({&each, &commit});
  }
  return rows;
}

Fields<ListRow> list_fields() {
  using F = Field<ListRow>;
  using enum Meaning;
  using history::CommitPoint;
  const auto its = [](auto... path) { return via(&ListRow::series, path...); };
  const auto of_key = [=](auto... path) { return its(&ListedSeries::key, path...); };
  const auto of_commit = [](auto... path) { return via(&ListRow::commit, path...); };
  const auto runs = [](const ListRow& row) { return row.commit->runs.size(); };
  const auto value_text = [](const ListRow& row) {
    return history_value(row.series->key, row.commit->value);
  };
  const auto level_text = [](const ListRow& row) {
    const auto& level = row.series->level;
    return level ? history_value(row.series->key, *level) : "";
  };
  const auto against = [](const ListRow& row) {
    const auto& level = row.series->level;
    return level && *level > 0 ? signed_percent(row.commit->value / *level - 1) : "";
  };
  return {
      F::table("series", of_key(&SeriesKey::name, shown_name), as::words),
      {"series", key, its(&ListedSeries::id), "id", as::words},
      {"name", key, of_key(&SeriesKey::name)},
      {"unit", key, of_key(&SeriesKey::unit)},
      {"better", key, of_key(&SeriesKey::direction, history::better_name)},
      {"environment", key, of_key(&SeriesKey::environment_id), "environment", as::words},
      F::table("commits", its(&ListedSeries::commits), as::exact),
      {"time", remark, of_commit(&CommitPoint::time, time_text), "time", as::words},
      {"commit", remark, of_commit(&CommitPoint::commit), "commit",
       of_commit(&CommitPoint::commit, short_commit), Align::left},
      {"runs", value, runs, "runs", as::exact},
      {"value", value_in_unit, of_commit(&CommitPoint::value), "value", value_text},
      {"level", value_in_unit, its(&ListedSeries::level), "level", level_text},
      F::table("against level", against),
  };
}

Json list_object(std::span<const ListedSeries> series) {
  Json list = Json::array();
  for (const ListedSeries& row : series) {
    Json latest = Json::array();
    for (const history::CommitPoint& commit : row.latest) {
      latest.push_back({{"commit", commit.commit},
                        {"time", time_text(commit.time)},
                        {"value", number(commit.value)},
                        {"runs", commit.runs}});
    }
    list.push_back({{"series", row.id},
                    {"key", Json::parse(row.key.text())},
                    {"points", row.points},
                    {"commits", row.commits},
                    {"level", value_of(row.level)},
                    {"latest", std::move(latest)}});
  }
  return {{"series", std::move(list)}};
}

}  // namespace

Document history_list_document(std::span<const history::ListedSeries> series) {
  Document document;
  document.tables.push_back(table_of(list_fields(), list_rows(series)));
  document.tables.back().title = "History";
  document.records = records_of(list_fields(), list_rows(series));
  document.json = json_answer(
      "dlscale.history_list",
      [all = std::vector<ListedSeries>(series.begin(), series.end())] { return list_object(all); });
  return document;
}

}  // namespace dlscale::report
