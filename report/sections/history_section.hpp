#pragma once
#include <optional>
#include <string>

#include "report/figure/figure.hpp"
#include "report/history/history_view.hpp"
#include "report/page/page.hpp"

namespace dlscale::report {

/// "history": one strip for each question, as drawn by figure::history_strips(). Absent if no strip
/// has two points.
std::optional<Figure> history_figure(const HistoryView& view);

/// "series 2 (conv layer=res2a_branch2b)": how the strips name a series; "the series below" of one.
/// Empty if no strip shows it.
std::string name_in_strips(const HistoryView& view, const std::string& series);

/// Section of a history: alerts with the commits to search, results beside their levels, strips,
/// and tables of the levels and marks in the strips.
Section history_section(const HistoryView& view);

/// A page of a history alone.
Page history_page(const HistoryView& view);

}  // namespace dlscale::report
