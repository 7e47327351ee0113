#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/figure/figures.hpp"
#include "report/history/history_view.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {

/// "history": one strip for each question, as drawn by figure::history_strips(). Absent if no strip
/// has two points.
std::optional<Figure> history_figure(const HistoryView& view);

/// Section of a history: alerts with the commits to search, results beside their levels, strips,
/// and tables of the levels and marks in the strips.
Section history_section(const HistoryView& view);

/// A page of a history alone.
inline constexpr std::string_view history_title = "dlscale: history, ";
std::string history_page_title(const HistoryView& view);
std::vector<Section> history_page(const HistoryView& view);

}  // namespace dlscale::report
