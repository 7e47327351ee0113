#pragma once
#include <optional>

#include "core/units.hpp"
#include "report/field_table.hpp"

namespace dlscale::report {

Json number(Seconds value);
/// null where absent.
Json optional_number(const std::optional<double>& value);
Json optional_number(const std::optional<Seconds>& value);

}  // namespace dlscale::report
