#pragma once
#include <cstddef>
#include <string>

#include "report/table/field_table.hpp"
#include "report/validation/validate.hpp"

namespace dlscale::report {

/// The order of schedules, measured against predicted: one row for each training.
Table orders_table(const Validation& validation, const Limits& limits);

/// " The order of schedules is predicted with a rank correlation of 0.94 …", or "" if no training
/// has several measured schedules.
std::string order_clause(const Validation& validation, const Limits& limits);

/// An order in that table and in JSON, which lists runs by their indices in `validation`. The
/// fields refer to the validation.
Fields<ScheduleOrder> order_fields(const Validation& validation, const Limits& limits);

/// The run at a place of an order.
const RunValidation& ordered_run(const Validation& validation, const ScheduleOrder& order,
                                 std::size_t place);

}  // namespace dlscale::report
