#pragma once
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/results/axes.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A row of bench comm for tables.
struct MessageRow {
  const Measurement* measured = nullptr;  ///< in the results, which must outlive it
  /// Of the row, but "nodes" in place of "ranks_on_node"; with "file", the name of its file, and
  /// "links" where the results say which joined its hosts.
  Axes axes;
};
using MessageRows = std::vector<MessageRow>;

/// Whether a row is of messages as bench comm measures them.
bool is_of_messages(const Measurement& measurement);

/// Those of the results that `wanted` takes, by collective, algorithm, ranks and nodes, then by
/// whatever else tells them apart, then by size.
MessageRows message_rows(std::span<const ResultFile> results,
                         const std::function<bool(const Measurement&)>& wanted);

/// Of each row, for varying_axes() and constant_axes().
std::vector<Axes> axes_of(const MessageRows& rows);

/// A column and the text of a row in it.
struct MessageField {
  Column column;
  std::function<std::string(const MessageRow&)> text;
};
using MessageFields = std::vector<MessageField>;

MessageField axis_field(const std::string& name, Align align = Align::left);
/// The median of a series, in the unit that fits; empty where a row lacks it.
MessageField median_field(const std::string& heading, const std::string& series);
/// "±1.5 %" of the series a row is about.
MessageField interval_field();
/// Empty where it is "ok".
MessageField status_field();

/// A field for each axis that is not the same in all rows; none for those of `shown`, which have a
/// column in any case.
void append_telling(MessageFields& fields, const MessageRows& rows,
                    std::initializer_list<std::string_view> shown);
/// "dtype=f32, op=sum": the axes that are the same in all rows, without those of `shown`.
std::string constants(const MessageRows& rows, std::initializer_list<std::string_view> shown);

/// A row each, under the fields that have a text in some row; rows that are not ok are marked.
/// Notes: why rows have no times, and warnings.
Table table_of(std::string title, const MessageRows& rows, MessageFields fields);

}  // namespace dlscale::report
