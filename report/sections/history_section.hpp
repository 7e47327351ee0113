#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/figure/figures.hpp"
#include "report/history/history_view.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {

/// "history": a strip a question, as figure::history_strips() draws them; nothing without one of
/// two points.
std::optional<Figure> history_figure(const HistoryView& view);

/// What a history says: alerts with the range of commits to look at, what results are beside their
/// level, strips, and as tables the levels and marks that these show.
Section history_section(const HistoryView& view);

/// A page of a history and of nothing else.
inline constexpr std::string_view history_title = "dlscale: history, ";
std::string history_page_title(const HistoryView& view);
std::vector<Section> history_page(const HistoryView& view);

}  // namespace dlscale::report
