#pragma once
#include "report/page/page.hpp"
#include "report/sections/report.hpp"

namespace dlscale::report {

/// The first screen of a page of measurements without a training to predict: the best rates of
/// convolutions, arithmetic, memory, messages and trainings that the results have. Sections and
/// figures are left empty.
Page measurement_page(const ReportInput& input);

}  // namespace dlscale::report
