#include "report/sections/measured_messages.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/statistics.hpp"
#include "core/results/bandwidths.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/messages/message_rows.hpp"
#include "report/results/rates.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {
namespace {

/// Rows of messages beyond which a page becomes too long.
constexpr std::size_t most_rows_on_page = 200;

bool is_beside_work(const Measurement& measurement) {
  return measurement.axes.contains("beside");
}

bool is_alone(const Measurement& measurement) {
  // Files of earlier versions hold messages that followed each other, with the axis "message".
  return !measurement.axes.contains("message") && !is_beside_work(measurement);
}

/// Size of the message; 0 if it has none, as a barrier.
double bytes_of(const Measurement& measurement) {
  const std::string text = axis_or_empty(measurement, "bytes");
  return is_number(text) ? std::stod(text) : 0;
}

std::string rate_text(const MessageRow& row, std::optional<BytesPerSecond> Rates::*rate) {
  return giga(rates(*row.measured).*rate);
}

/// One size of a setting, measured once or several times in one file.
struct Size {
  const Measurement* measured = nullptr;
  std::vector<double> times;  ///< medians, in seconds; ≥ 1
  [[nodiscard]] Seconds time() const { return Seconds(median(times)); }
  [[nodiscard]] std::optional<BytesPerSecond> busbw() const {
    const auto found = bandwidths(*measured, time());
    return found ? found->busbw : std::nullopt;
  }
};

/// All sizes of a collective by one algorithm in one setting.
struct SizeCurve {
  MessageRow any;                ///< any of its rows, without the axis of size
  std::map<double, Size> sizes;  ///< sizes with times, by bytes
  int unstable = 0;
  int without_time = 0;

  void add(const Measurement& measured) {
    const auto time = measured.series.find("time");
    const bool timed = is_timed(measured) && time != measured.series.end();
    unstable += measured.status == Status::unstable ? 1 : 0;
    without_time += timed ? 0 : 1;
    if (!timed) return;
    Size& size = sizes[bytes_of(measured)];
    size.measured = &measured;
    size.times.push_back(time->second.summary.median);
  }
};

/// Groups rows into curves: rows of a setting are adjacent in the order of message_rows().
std::vector<SizeCurve> curves_of(const MessageRows& rows) {
  std::vector<SizeCurve> curves;
  for (const MessageRow& row : rows) {
    MessageRow any = row;
    any.axes.erase("bytes");
    if (curves.empty() || curves.back().any.axes != any.axes) {
      curves.emplace_back().any = std::move(any);
    }
    curves.back().add(*row.measured);
  }
  return curves;
}

/// Cells of the smallest size and of the size with the largest bus bandwidth.
std::vector<Cell> size_cells(const SizeCurve& curve) {
  if (curve.sizes.empty()) return {{""}, {""}, {""}, {""}};
  const auto& [smallest, first] = *curve.sizes.begin();
  std::optional<BytesPerSecond> best;
  double at = 0;
  for (const auto& [bytes, size] : curve.sizes) {
    const auto busbw = size.busbw();
    if (!busbw || (best && *best >= *busbw)) continue;
    best = busbw;
    at = bytes;
  }
  return {{smallest > 0 ? to_text(Bytes(smallest)) : ""},
          {to_text(first.time())},
          {giga(best)},
          {best ? to_text(Bytes(at)) : ""}};
}

Table curves_table(std::span<const ResultFile> results) {
  const std::vector<SizeCurve> curves = curves_of(message_rows(results, is_alone));
  MessageRows settings;
  for (const SizeCurve& curve : curves) settings.push_back(curve.any);
  MessageFields fields{axis_field("collective"), axis_field("algorithm"),
                       axis_field("ranks", Align::right), axis_field("nodes", Align::right),
                       axis_field("waiting")};
  append_telling(fields, settings, {"collective", "algorithm", "ranks", "nodes", "waiting"});
  Table table = table_of(fields, MessageRows{});
  table.title = "Messages between ranks";
  for (const char* heading :
       {"sizes", "smallest", "takes", "largest busbw GB/s", "at", "unstable", "without a time"}) {
    table.columns.push_back({heading});
  }
  for (const SizeCurve& curve : curves) {
    add_shown(fields, curve.any, table);
    std::vector<Cell>& row = table.rows.back();
    row.push_back({std::to_string(curve.sizes.size())});
    std::ranges::move(size_cells(curve), std::back_inserter(row));
    row.push_back({curve.unstable > 0 ? std::to_string(curve.unstable) : "", Tone::caution});
    row.push_back(
        {curve.without_time > 0 ? std::to_string(curve.without_time) : "", Tone::caution});
  }
  const std::string common =
      constants(settings, {"collective", "algorithm", "ranks", "nodes", "waiting"});
  if (!common.empty()) table.notes.push_back(common);
  table.notes.emplace_back(
      "takes: the median, from where the ranks met to the end on the last of them; busbw as "
      "nccl-tests defines it: what each link carries if a ring is used");
  table.notes.emplace_back(
      "unstable: rows whose interval stayed wider than asked for; without a time: wrong, "
      "interrupted or not offered");
  return table;
}

Table beside_table(std::span<const ResultFile> results) {
  const MessageRows rows = message_rows(results, is_beside_work);
  MessageFields fields{axis_field("collective"),
                       axis_field("algorithm"),
                       axis_field("bytes", Align::right),
                       axis_field("ranks", Align::right),
                       axis_field("nodes", Align::right),
                       axis_field("beside"),
                       axis_field("waiting")};
  append_telling(fields, rows,
                 {"collective", "algorithm", "bytes", "ranks", "nodes", "beside", "waiting"});
  for (const auto& [heading, series] :
       {std::pair("work alone", "compute_alone"), std::pair("messages alone", "messages_alone"),
        std::pair("work slower by", "compute_slowdown"),
        std::pair("messages slower by", "messages_slowdown"),
        std::pair("overlap efficiency", "overlap_efficiency")}) {
    fields.push_back(median_field(heading, series));
  }
  fields.push_back(MessageField::table("95 %", [](const MessageRow& row) {
    const auto found = row.measured->series.find("overlap_efficiency");
    if (found == row.measured->series.end()) return std::string();
    const Summary& summary = found->second.summary;
    return has_interval(summary)
               ? fmt::format("{:.2f} to {:.2f}", summary.ci95_low, summary.ci95_high)
               : std::string("-");
  }));
  fields.push_back(median_field("exposed", "exposed"));
  fields.push_back(status_field());
  Table table = table_of("Messages beside other work", rows, std::move(fields));
  table.notes.emplace_back(
      "medians; slower by: how many times as long as alone; overlap efficiency: 1 where the "
      "shorter of both is hidden, 0 where one after the other takes as long, below it where that "
      "would be quicker; exposed: what the messages take after the work");
  const std::string common =
      constants(rows, {"collective", "algorithm", "bytes", "ranks", "nodes", "beside", "waiting"});
  if (!common.empty()) table.notes.push_back(common);
  return table;
}

/// Sizes of one collective by one algorithm.
Table sizes_table(const std::string& collective, const std::string& algorithm,
                  const MessageRows& rows) {
  MessageFields fields{axis_field("bytes", Align::right), axis_field("ranks", Align::right),
                       axis_field("nodes", Align::right), axis_field("waiting")};
  append_telling(fields, rows, {"collective", "algorithm", "bytes", "ranks", "nodes", "waiting"});
  fields.push_back(median_field("time", "time"));
  fields.push_back(interval_field());
  for (const auto& [heading, rate] :
       {std::pair("algbw GB/s", &Rates::algbw), std::pair("busbw GB/s", &Rates::busbw),
        std::pair("wirebw GB/s", &Rates::wirebw)}) {
    fields.push_back(MessageField::table(
        heading, [rate = rate](const MessageRow& row) { return rate_text(row, rate); }));
  }
  if (std::ranges::any_of(rows, [](const MessageRow& row) {
        return row.measured->series.contains("library_estimate");
      })) {
    fields.push_back(median_field("library expects", "library_estimate"));
  }
  fields.push_back(median_field("ranks began apart by", "start_skew"));
  fields.push_back(status_field());
  const std::string common =
      constants(rows, {"collective", "algorithm", "bytes", "ranks", "nodes", "waiting"});
  return table_of(fmt::format("{}{}{}{}", collective, algorithm.empty() ? "" : ", algorithm ",
                              algorithm, common.empty() ? "" : ": " + common),
                  rows, std::move(fields));
}

}  // namespace

std::vector<Table> message_summary(std::span<const ResultFile> results) {
  std::vector<Table> tables{curves_table(results), beside_table(results)};
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  return tables;
}

std::map<std::string, std::vector<Table>> message_details(std::span<const ResultFile> results) {
  std::map<std::pair<std::string, std::string>, MessageRows> all;
  for (MessageRow& row : message_rows(results, is_alone)) {
    const std::pair key(axis_or_empty(row.axes, "collective"),
                        axis_or_empty(row.axes, "algorithm"));
    all[key].push_back(std::move(row));
  }
  std::map<std::string, std::vector<Table>> tables;
  for (const auto& [key, rows] : all) {
    tables[key.first].push_back(sizes_table(key.first, key.second, rows));
  }
  return tables;
}

bool has_all_reduce_curve(std::span<const ResultFile> results) {
  std::set<double> sizes;
  for (const ResultFile& file : results) {
    for (const Measurement& each : file.measurements) {
      const bool counts = is_of_messages(each) && is_timed(each) && is_sent_as_in_training(each) &&
                          axis_or_empty(each, "collective") == "all_reduce";
      if (counts) sizes.insert(bytes_of(each));
    }
  }
  return sizes.size() > 1;
}

Section messages_section(const ReportInput& input) {
  Section section{"messages", "Messages between ranks", {}};
  for (Table& table : message_summary(input.results)) section.blocks.emplace_back(std::move(table));
  section.blocks.emplace_back(FigureSlot{"allreduce"});
  auto details = message_details(input.results);
  std::size_t rows = 0;
  for (const auto& [collective, tables] : details) {
    for (const Table& table : tables) rows += table.rows.size();
  }
  for (auto& [collective, tables] : details) {
    if (rows > most_rows_on_page) {
      section.blocks.emplace_back(Appendix{collective, std::move(tables), Appendix::Of::messages});
      continue;
    }
    for (Table& table : tables) section.blocks.emplace_back(Folded{std::move(table)});
  }
  if (details.empty() && section.blocks.size() == 1) {
    section.blocks.emplace_back(Paragraph{"No message was measured."});
  }
  return section;
}

}  // namespace dlscale::report
