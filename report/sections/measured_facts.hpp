#pragma once
#include "report/page/page.hpp"
#include "report/sections/report.hpp"

namespace dlscale::report {

/// The first screen of a page of measurements without a training to predict: the best rates of
/// convolutions, matrix products, arithmetic, memory, messages and trainings that the results have.
/// Sections and figures are left empty. Of studies of noise alone: the whole page, of kind "noise".
Page measurement_page(const ReportInput& input);

}  // namespace dlscale::report
