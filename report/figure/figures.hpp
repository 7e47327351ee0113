#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace dlscale::report {

struct ReportInput;

/// A drawing of a page. report/figure/ draws it.
struct Figure {
  std::string name;  ///< "phases", "roofline": its FigureSlot
  std::string title;
  std::string alt;  ///< what it shows, for those who cannot see it
  std::string svg;
  std::filesystem::path file;  ///< of the SVG, relative to the page
};
using Figures = std::vector<Figure>;

/// The figures of a report that its results allow.
Figures report_figures(const ReportInput& input);

/// The files that figures of a report have.
std::vector<std::string> figure_files();

}  // namespace dlscale::report
