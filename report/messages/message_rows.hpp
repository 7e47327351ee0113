#pragma once
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/results/axes.hpp"
#include "report/table/field_table.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A table row from bench comm.
struct MessageRow {
  const Measurement* measured = nullptr;  ///< points into the results, which must outlive it
  /// Axes of the row, with "nodes" in place of "ranks_on_node". Adds "file", the name of its file,
  /// and "links" if the results name the links between its hosts.
  Axes axes;
};
using MessageRows = std::vector<MessageRow>;

/// Whether a row measures messages as bench comm does.
bool is_of_messages(const Measurement& measurement);

/// The rows that `wanted` accepts, sorted by collective, algorithm, ranks, nodes, other
/// distinguishing axes, and size.
MessageRows message_rows(std::span<const ResultFile> results,
                         const std::function<bool(const Measurement&)>& wanted);

/// Axes of each row, for varying_axes() and constant_axes().
std::vector<Axes> axes_of(const MessageRows& rows);

using MessageField = Field<MessageRow>;
using MessageFields = Fields<MessageRow>;

MessageField axis_field(const std::string& name, Align align = Align::left);
/// The median of a series in a suitable unit; empty if a row lacks it.
MessageField median_field(const std::string& heading, const std::string& series);
/// "±1.5 %" of the main series of a row.
MessageField interval_field();
/// Status of a row; empty if it is "ok".
MessageField status_field();

/// Appends a field for each axis that varies among the rows, except those in `shown`, which have a
/// column already.
void append_telling(MessageFields& fields, const MessageRows& rows,
                    std::initializer_list<std::string_view> shown);
/// "dtype=f32, op=sum": the axes that are the same in all rows, without those in `shown`.
std::string constants(const MessageRows& rows, std::initializer_list<std::string_view> shown);

/// One row each, with the fields that have a text in some row; marks rows that are not ok. Notes
/// say why rows have no times, and repeat warnings.
Table table_of(std::string title, const MessageRows& rows, MessageFields fields);

}  // namespace dlscale::report
