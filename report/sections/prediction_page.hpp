#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/sections/sections.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// An answer of predict in JSON ("dlscale.prediction" or "dlscale.sweep") as a page: a table of the
/// iterations, a table of their parts, and the notes.
struct PredictionPage {
  std::string title;  ///< "dlscale: predicted, alexnet on p40x16"
  std::vector<Section> sections;
  Document document;  ///< for the screen and for programs
};

/// Start of the title, by which pages are known.
inline constexpr std::string_view prediction_title = "dlscale: predicted, ";

/// Throws ConfigError that names the file for damage.
PredictionPage prediction_page(const std::string& text, const std::string& file);

}  // namespace dlscale::report
