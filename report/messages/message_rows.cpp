#include "report/messages/message_rows.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "model/fits/fit.hpp"
#include "report/results/rates.hpp"

namespace dlscale::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_remarks = 5;  ///< below a table

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

/// Number of nodes of the ranks; empty if a row does not state it.
std::string nodes_of(const Axes& axes) {
  const std::string ranks = axis_or_empty(axes, "ranks");
  const std::string on_node = axis_or_empty(axes, "ranks_on_node");
  if (!is_number(ranks) || !is_number(on_node)) return "";
  const long long each = std::stoll(on_node);
  return each == 0 ? "" : std::to_string((std::stoll(ranks) + each - 1) / each);
}

MessageRow message_row(const Measurement& measured, const ResultFile& file,
                       const std::string& file_name) {
  MessageRow row{&measured, measured.axes};
  row.axes["nodes"] = nodes_of(row.axes);
  row.axes["file"] = file_name;
  row.axes.erase("ranks_on_node");
  row.axes.erase("window");  // a function of the size
  if (model::is_between_hosts(measured)) {
    std::string links = model::links_between_hosts(file.header.environment);
    if (!links.empty()) row.axes["links"] = std::move(links);
  }
  return row;
}

/// The common folder of all files; empty if there is none.
fs::path common_folder(std::span<const ResultFile> results) {
  fs::path common = results.empty() ? fs::path() : results.front().path.parent_path();
  for (const ResultFile& file : results) {
    const auto end =
        std::mismatch(common.begin(), common.end(), file.path.begin(), file.path.end()).first;
    fs::path shared;
    for (auto part = common.begin(); part != end; ++part) shared /= *part;
    common = std::move(shared);
  }
  return common;
}

/// File names without folders if they are unique, else without the common folder.
std::vector<std::string> file_names(std::span<const ResultFile> results) {
  std::map<std::string, int> count;
  for (const ResultFile& file : results) ++count[file.path.filename().string()];
  const fs::path common = common_folder(results);
  std::vector<std::string> names;
  for (const ResultFile& file : results) {
    const std::string name = file.path.filename().string();
    const fs::path place = common.empty() ? file.path : file.path.lexically_relative(common);
    names.push_back(count.at(name) == 1 ? name : place.string());
  }
  return names;
}

void put_in_order(MessageRows& rows) {
  std::vector<std::string> names{"collective", "algorithm", "ranks", "nodes"};
  for (const std::string& name : varying_axes(axes_of(rows))) {
    const bool is_last = is_one_of(name, {"message", "bytes"});
    if (!is_last && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  names.emplace_back("message");
  names.emplace_back("bytes");
  std::ranges::stable_sort(rows, [&names](const MessageRow& a, const MessageRow& b) {
    for (const std::string& name : names) {
      const std::string left = axis_or_empty(a.axes, name);
      const std::string right = axis_or_empty(b.axes, name);
      if (left != right) return in_order(left, right);
    }
    return false;
  });
}

std::string summary_text(const Series& series) {
  if (series.unit == "s") return to_text(Seconds(series.summary.median));
  return significant(series.summary.median, 3);
}

/// Reasons for missing times, the number of unstable rows, and warnings.
std::vector<std::string> remarks_of(const MessageRows& rows) {
  std::vector<Measurement> all;  // without their samples
  for (const MessageRow& row : rows) {
    Measurement& one = all.emplace_back();
    one.status = row.measured->status;
    // otherwise the number of samples
    if (!is_timed(*row.measured)) one.reason = row.measured->reason;
    one.warnings = row.measured->warnings;
  }
  return remarks(all, most_remarks);
}

}  // namespace

bool is_of_messages(const Measurement& measurement) {
  return measurement.benchmark == "comm";
}

MessageRows message_rows(std::span<const ResultFile> results,
                         const std::function<bool(const Measurement&)>& wanted) {
  const std::vector<std::string> names = file_names(results);
  MessageRows rows;
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const Measurement& each : results[i].measurements) {
      if (is_of_messages(each) && wanted(each)) {
        rows.push_back(message_row(each, results[i], names[i]));
      }
    }
  }
  put_in_order(rows);
  return rows;
}

std::vector<Axes> axes_of(const MessageRows& rows) {
  std::vector<Axes> all;
  for (const MessageRow& row : rows) all.push_back(row.axes);
  return all;
}

MessageField axis_field(const std::string& name, Align align) {
  return MessageField::table(
      name, [name](const MessageRow& row) { return axis_or_empty(row.axes, name); }, align);
}

MessageField median_field(const std::string& heading, const std::string& series) {
  return MessageField::table(heading, [series](const MessageRow& row) {
    const auto found = row.measured->series.find(series);
    const bool there = found != row.measured->series.end();
    return there ? summary_text(found->second) : std::string();
  });
}

MessageField interval_field() {
  return MessageField::table("95 %", [](const MessageRow& row) {
    const auto* main = main_series(*row.measured);
    return main == nullptr ? std::string() : interval_text(main->second.summary);
  });
}

MessageField status_field() {
  return MessageField::table(
      "status",
      [](const MessageRow& row) {
        const Status status = row.measured->status;
        return status == Status::ok ? std::string() : std::string(status_name(status));
      },
      Align::left);
}

void append_telling(MessageFields& fields, const MessageRows& rows,
                    std::initializer_list<std::string_view> shown) {
  for (const std::string& name : varying_axes(axes_of(rows))) {
    if (!is_one_of(name, shown)) fields.push_back(axis_field(name));
  }
}

std::string constants(const MessageRows& rows, std::initializer_list<std::string_view> shown) {
  std::vector<Axes> all = axes_of(rows);
  for (Axes& axes : all) {
    for (const std::string_view name : shown) axes.erase(std::string(name));
  }
  return constant_axes(all);
}

Table table_of(std::string title, const MessageRows& rows, MessageFields fields) {
  Table table = table_of(filled(std::move(fields), rows), rows);
  table.title = std::move(title);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].measured->status == Status::ok) continue;
    for (Cell& cell : table.rows[i]) cell.tone = Tone::caution;
  }
  table.notes = remarks_of(rows);
  return table;
}

}  // namespace dlscale::report
