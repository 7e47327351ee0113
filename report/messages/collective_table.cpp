#include "report/messages/collective_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/bandwidths.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/prediction/note_text.hpp"
#include "report/table/field_table.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report {
namespace {

using model::CollectiveAnswer;
using model::CollectiveLeftOut;
using model::CollectiveTime;

/// A time, with what its record needs of the question.
struct TimeRow {
  const CollectiveTime* time = nullptr;
  std::string collective;
  std::string cluster;
  bool is_fastest = false;  ///< of its ranks and size
  [[nodiscard]] BytesPerSecond algbw() const { return time->size / time->time.value; }
  [[nodiscard]] std::optional<BytesPerSecond> busbw() const {
    const std::optional<double> factor = bus_factor(collective, time->ranks);
    return factor ? std::optional(*factor * algbw()) : std::nullopt;
  }
};

/// All times of one number of ranks and one size.
struct SizeRow {
  std::vector<TimeRow> times;
  [[nodiscard]] const TimeRow& fastest() const {
    const auto found = std::ranges::find(times, true, &TimeRow::is_fastest);
    EXPECT(found != times.end());
    return *found;
  }
};

std::vector<SizeRow> size_rows(const CollectiveAnswer& answer) {
  std::vector<SizeRow> rows;
  const std::string collective(to_string(answer.collective));
  for (const CollectiveTime& time : answer.times) {
    const bool same = !rows.empty() && rows.back().times.front().time->size == time.size &&
                      rows.back().times.front().time->ranks == time.ranks;
    if (!same) rows.emplace_back();
    rows.back().times.push_back({&time, collective, answer.on});
  }
  for (SizeRow& row : rows) {
    // NCCL's cost model has full rates, which no measured time compares with.
    const auto seconds = [](const TimeRow& each) {
      return std::pair(each.time->algorithm == "nccl", each.time->time.value);
    };
    std::ranges::min_element(row.times, {}, seconds)->is_fastest = true;
  }
  return rows;
}

std::vector<TimeRow> flat(const std::vector<SizeRow>& rows) {
  std::vector<TimeRow> all;
  for (const SizeRow& row : rows) all.insert(all.end(), row.times.begin(), row.times.end());
  return all;
}

Fields<TimeRow> time_fields() {
  using enum Meaning;
  using F = Field<TimeRow>;
  const auto of = [](auto... path) { return via(&TimeRow::time, path...); };
  using Time = model::Estimate<Seconds>;
  F fastest{"fastest", state, [](const TimeRow& row) { return row.is_fastest ? "yes" : "no"; }};
  fastest.states = {"yes", "no"};
  return {{"collective", key, &TimeRow::collective},
          {"cluster", key, &TimeRow::cluster},
          {"ranks", key, of(&CollectiveTime::ranks)},
          {"nodes", key, of(&CollectiveTime::nodes)},
          {"message_bytes", key, of(&CollectiveTime::size)},
          {"algorithm", key, of(&CollectiveTime::algorithm)},
          {"time_s", value, of(&CollectiveTime::time, &Time::value)},
          {"time_low_s", value, of(&CollectiveTime::time, &Time::low)},
          {"time_high_s", value, of(&CollectiveTime::time, &Time::high)},
          {"algbw_bytes_per_s", value, &TimeRow::algbw},
          {"busbw_bytes_per_s", value, &TimeRow::busbw},
          {"from", remark, of(&CollectiveTime::source, model::time_source_name)},
          std::move(fastest)};
}

/// The time by one algorithm, or a dash where it was left out.
Field<SizeRow> algorithm_field(const std::string& algorithm) {
  return Field<SizeRow>::table(algorithm, [algorithm](const SizeRow& row) {
    const auto found = std::ranges::find(row.times, algorithm,
                                         [](const TimeRow& each) { return each.time->algorithm; });
    if (found == row.times.end()) return std::string("–");
    return to_text(found->time->time.value);
  });
}

std::string ends_text(const SizeRow& row) {
  const model::Estimate<Seconds>& time = row.fastest().time->time;
  return from_to(to_text(time.low), to_text(time.high));
}

std::string gigabytes_text(const std::optional<BytesPerSecond>& rate) {
  return rate ? significant(1e-9 * rate->si(), 3) : "–";
}

Table table_for_people(const CollectiveAnswer& answer, const std::vector<SizeRow>& rows) {
  using F = Field<SizeRow>;
  Fields<SizeRow> fields;
  const auto of = [](auto get) {
    return [get](const SizeRow& row) { return get(*row.fastest().time); };
  };
  const bool several_ranks =
      rows.front().times.front().time->ranks != rows.back().times.front().time->ranks;
  if (several_ranks) {
    fields.push_back(F::table(
        "ranks", of([](const CollectiveTime& time) { return std::to_string(time.ranks); })));
  }
  fields.push_back(
      F::table("message", of([](const CollectiveTime& time) { return to_text(time.size); })));
  const bool several = answer.algorithms.size() > 1;
  for (const std::string& algorithm : answer.algorithms) {
    F field = algorithm_field(algorithm);
    if (!several) field.header = "time";
    fields.push_back(std::move(field));
  }
  if (several) {
    fields.push_back(F::table(
        "fastest", of([](const CollectiveTime& time) { return time.algorithm; }), Align::left));
  }
  fields.push_back(F::table(answer.fitted ? "its 95 %" : "its 90 %",
                            [](const SizeRow& row) { return ends_text(row); }));
  fields.push_back(F::table(
      "algbw GB/s", [](const SizeRow& row) { return gigabytes_text(row.fastest().algbw()); }));
  fields.push_back(F::table(
      "busbw GB/s", [](const SizeRow& row) { return gigabytes_text(row.fastest().busbw()); }));
  return table_of(fields, rows);
}

std::string title_of(const CollectiveAnswer& answer) {
  std::set<std::string> on;
  const CollectiveTime& first = answer.times.front();
  const bool one = std::ranges::all_of(
      answer.times, [&](const CollectiveTime& time) { return time.ranks == first.ranks; });
  const std::string ranks =
      one ? fmt::format("{}, {}", counted(first.ranks, "rank"), counted(first.nodes, "node"))
          : std::string("several numbers of ranks");
  return fmt::format("{} on {}{}, messages alone", to_string(answer.collective), answer.on,
                     one ? fmt::format(", {}", ranks) : "");
}

/// One line on the sources of all times, then the algorithms that were left out.
std::vector<std::string> lines_below(const CollectiveAnswer& answer) {
  std::vector<std::string> sources;
  for (const CollectiveTime& time : answer.times) {
    std::string name(time_source_name(time.source));
    if (std::ranges::find(sources, name) == sources.end()) sources.push_back(std::move(name));
  }
  std::vector<std::string> lines{
      fmt::format("Rests on: {}; ranks enter each message together.", fmt::join(sources, ", "))};
  for (const CollectiveLeftOut& out : answer.left_out) {
    lines.push_back(fmt::format("{}: left out: {}", counted(out.ranks, "rank"), out.why));
  }
  return lines;
}

Json left_out_object(const CollectiveAnswer& answer) {
  Json list = Json::array();
  for (const CollectiveLeftOut& out : answer.left_out) {
    list.push_back({{"ranks", out.ranks}, {"algorithm", out.algorithm}, {"why", out.why}});
  }
  return list;
}

/// The last message, which is the largest one, in a sentence.
std::string lead_of(const CollectiveAnswer& answer, const SizeRow& row) {
  const CollectiveTime& time = *row.fastest().time;
  return fmt::format("{} of {} on {} takes {} ({} % interval {} to {}) by {}.",
                     to_string(answer.collective), to_text(time.size), counted(time.ranks, "rank"),
                     to_text(time.time.value), answer.fitted ? 95 : 90, to_text(time.time.low),
                     to_text(time.time.high), time.algorithm);
}

}  // namespace

Document collective_document(const CollectiveAnswer& answer) {
  EXPECT(!answer.times.empty());
  const std::vector<SizeRow> rows = size_rows(answer);
  Table table = table_for_people(answer, rows);
  table.title = title_of(answer);
  table.notes = lines_below(answer);
  const std::vector<TimeRow> all = flat(rows);
  return {lead_of(answer, rows.back()),
          {table},
          records_of(time_fields(), all),
          json_answer("dlscale.collectives", [answer] {
            return Json{{"times", list_of(time_fields(), flat(size_rows(answer)))},
                        {"left_out", left_out_object(answer)},
                        {"notes", notes_object(answer.notes)}};
          })};
}

}  // namespace dlscale::report
