#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/table.hpp"
#include "report/validate.hpp"

namespace dlscale::report {

/// The order of schedules, measured against predicted: a row for each training.
Table orders_table(const Validation& validation, const Limits& limits);

/// " The order of schedules is predicted with a rank correlation of 0.94 …", or "" where of no
/// training several schedules were measured.
std::string order_clause(const Validation& validation, const Limits& limits);

/// What the records of a run have of the order it is part of.
inline constexpr std::array<std::string_view, 8> order_keys{
    "order_measured",    "order_predicted",  "order_correlation", "order_pairs_apart",
    "order_pairs_right", "fastest_measured", "fastest_predicted", "choice_loss"};
/// The values of these for a run, all empty where it is part of none.
std::vector<std::string> order_values(const Validation& validation, std::size_t run);

/// The run of an order, by its place there.
const RunValidation& ordered_run(const Validation& validation, const ScheduleOrder& order,
                                 std::size_t place);

}  // namespace dlscale::report
