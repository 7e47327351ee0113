#include "report/sections/message_sections.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/statistics.hpp"
#include "core/results/bandwidths.hpp"
#include "core/results/communication_profile.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/messages/message_rows.hpp"
#include "report/results/axes.hpp"
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

using Profiles = std::vector<CommunicationProfile>;

/// A profile and the sums over its messages.
struct Sent {
  const CommunicationProfile* profile;
  std::vector<SizeBucket> buckets;

  [[nodiscard]] double each(double of_all) const {
    return of_all / static_cast<double>(profile->iterations.size());
  }
};

Profiles profiles_of(std::span<const ResultFile> results) {
  Profiles all;
  for (const ResultFile& file : results) {
    if (file.header.benchmark != profile_benchmark) continue;
    std::ranges::move(read_profiles(file), std::back_inserter(all));
  }
  return all;
}

std::vector<Sent> sent_in(const Profiles& profiles) {
  std::vector<Sent> all;
  for (const CommunicationProfile& each : profiles) all.push_back({&each, size_buckets(each)});
  return all;
}

std::string size_text(int exponent) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  return fmt::format("{} {}", 1 << (exponent % 10),
                     units.at(static_cast<std::size_t>(exponent) / 10));
}

std::string range_text(int exponent) {
  return fmt::format("{} – {}", size_text(exponent), size_text(exponent + 1));
}

constexpr const char* range_note = "sizes: from the first number to below the second";
constexpr const char* fused_note =
    "fused: messages that carry several layers; empty where an earlier version did not tell";
constexpr const char* time_note =
    "ms: of all messages of an iteration, each as long as on its last rank from where the ranks "
    "had met; they may travel while the ranks compute";

std::string counted_text(double value) {
  return value == static_cast<double>(static_cast<long long>(value))
             ? std::to_string(static_cast<long long>(value))
             : significant(value, 3);
}

std::string megabytes(Bytes bytes) {
  return significant(bytes.si() * 1e-6, 4);
}

/// Names of the axes that distinguish the runs, and always network and schedule.
std::vector<std::string> telling_axes(const Profiles& profiles) {
  std::vector<Axes> all;
  for (const CommunicationProfile& each : profiles) all.push_back(each.axes);
  std::vector<std::string> names{"network", "schedule"};
  for (const std::string& name : varying_axes(all)) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

template <class Value>
double sum_of(const Sent& sent, Value value) {
  double sum = 0;
  for (const SizeBucket& bucket : sent.buckets) sum += value(bucket);
  return sum;
}

/// Calls of an iteration; empty for files of earlier versions, which do not record them.
std::string fused_text(const Sent& sent) {
  const double untold = sum_of(sent, [](const auto& b) { return static_cast<double>(b.untold); });
  const double fused = sum_of(sent, [](const auto& b) { return static_cast<double>(b.fused); });
  return untold > 0 ? "" : counted_text(sent.each(fused));
}

/// Reasons why the sums over its messages may be too small, or cover fewer iterations.
std::vector<std::string> doubts_of(const CommunicationProfile& profile) {
  std::vector<std::string> doubts;
  const std::string run = fmt::format("{}, {}", axis_or_empty(profile.axes, "network"),
                                      axis_or_empty(profile.axes, "schedule"));
  for (const std::string& doubt : {profile.doubt, profile.interruption}) {
    if (!doubt.empty()) doubts.push_back(fmt::format("{}: {}", run, doubt));
  }
  return doubts;
}

Table profiled_runs_table(const Profiles& profiles) {
  Table table;
  table.title = "What ranks send each other in an iteration";
  const std::vector<std::string> names = telling_axes(profiles);
  for (const std::string& name : names) table.columns.push_back({name, Align::left});
  for (const char* heading : {"messages", "of 2^n bytes", "fused", "MB", "ms", "MB/s"}) {
    table.columns.push_back({heading});
  }
  for (const Sent& sent : sent_in(profiles)) {
    auto& row = table.rows.emplace_back();
    for (const std::string& name : names) {
      row.push_back({axis_or_empty(sent.profile->axes, name)});
    }
    const double calls = sum_of(sent, [](const auto& b) { return static_cast<double>(b.calls); });
    const double powers =
        sum_of(sent, [](const auto& b) { return static_cast<double>(b.powers_of_two); });
    const Bytes bytes(sent.each(sum_of(sent, [](const auto& b) { return b.bytes.si(); })));
    const Seconds time(sent.each(sum_of(sent, [](const auto& b) { return b.time.si(); })));
    row.push_back({counted_text(sent.each(calls))});
    row.push_back({counted_text(sent.each(powers))});
    row.push_back({fused_text(sent)});
    row.push_back({megabytes(bytes)});
    row.push_back({milliseconds(time)});
    row.push_back({time > Seconds(0) ? significant((bytes / time).si() * 1e-6, 4) : ""});
  }
  table.notes = {time_note, fused_note};
  for (const CommunicationProfile& each : profiles) {
    for (std::string& doubt : doubts_of(each)) {
      if (std::ranges::find(table.notes, doubt) == table.notes.end()) {
        table.notes.push_back(std::move(doubt));
      }
    }
  }
  return table;
}

Table run_table(const Sent& sent, const std::vector<std::string>& names) {
  Table table;
  table.title = "Messages";
  for (const std::string& name : names) {
    table.title += fmt::format("{} {}", table.title == "Messages" ? " of" : ",",
                               axis_or_empty(sent.profile->axes, name));
  }
  table.columns = {{"collective", Align::left},
                   {"bytes", Align::left},
                   {"calls"},
                   {"of 2^n bytes"},
                   {"fused"},
                   {"MB"},
                   {"ms"},
                   {"ms of 2^n bytes"},
                   {"ms of fused"},
                   {"ms a call"},
                   {"95 % from"},
                   {"to"},
                   {"share"}};
  for (const SizeBucket& bucket : sent.buckets) {
    const bool told = bucket.untold == 0;
    table.rows.push_back({{bucket.collective},
                          {range_text(bucket.exponent)},
                          {counted_text(sent.each(static_cast<double>(bucket.calls)))},
                          {counted_text(sent.each(static_cast<double>(bucket.powers_of_two)))},
                          {told ? counted_text(sent.each(static_cast<double>(bucket.fused))) : ""},
                          {megabytes(Bytes(sent.each(bucket.bytes.si())))},
                          {milliseconds(Seconds(sent.each(bucket.time.si())))},
                          {milliseconds(Seconds(sent.each(bucket.power_time.si())))},
                          {told ? milliseconds(Seconds(sent.each(bucket.fused_time.si()))) : ""},
                          {milliseconds(Seconds(bucket.call.median))},
                          {milliseconds(Seconds(bucket.call.ci95_low))},
                          {milliseconds(Seconds(bucket.call.ci95_high))},
                          {percent(bucket.share)}});
  }
  table.notes = {fmt::format("calls, MB and ms: of an iteration, the mean of {}",
                             counted(std::ssize(sent.profile->iterations), "iteration")),
                 range_note, fused_note};
  std::ranges::move(doubts_of(*sent.profile), std::back_inserter(table.notes));
  return table;
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

Section messages_section(const ReportInput& input) {
  Section section{"messages", "Messages between ranks", {}};
  for (Table& table : message_summary(input.results)) section.blocks.emplace_back(std::move(table));
  section.blocks.emplace_back(FigureSlot{"allreduce"});
  section.blocks.emplace_back(FigureSlot{"message_crossover"});
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
  if (details.empty() && section.blocks.size() == 2) {
    section.blocks.emplace_back(Paragraph{"No message was measured."});
  }
  return section;
}

std::vector<Table> communication_summary(std::span<const ResultFile> results) {
  const Profiles profiles = profiles_of(results);
  if (profiles.empty()) return {};
  return {profiled_runs_table(profiles)};
}

std::vector<Table> communication_details(std::span<const ResultFile> results) {
  const Profiles profiles = profiles_of(results);
  const std::vector<std::string> names = telling_axes(profiles);
  std::vector<Table> tables;
  for (const Sent& sent : sent_in(profiles)) tables.push_back(run_table(sent, names));
  return tables;
}

Section communication_section(const ReportInput& input) {
  Section section{"communication", "Messages of training", {}};
  for (Table& table : communication_summary(input.results)) {
    section.blocks.emplace_back(std::move(table));
  }
  for (Table& table : communication_details(input.results)) {
    section.blocks.emplace_back(Folded{std::move(table)});
  }
  if (section.blocks.empty()) section.blocks.emplace_back(Paragraph{"No message was recorded."});
  return section;
}

}  // namespace dlscale::report
