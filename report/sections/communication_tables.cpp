#include "report/sections/communication_tables.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/results/communication_profile.hpp"
#include "core/text/numbers.hpp"
#include "report/results/axes.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {
namespace {

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
