#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace dlscale::report {

struct ReportInput;

/// A drawing on a page, drawn by report/figure/.
struct Figure {
  std::string name;  ///< name of its FigureSlot: "phases", "roofline"
  std::string title;
  std::string alt;  ///< description for screen readers
  std::string svg;
  std::filesystem::path file;  ///< path of the SVG, relative to the page
};
using Figures = std::vector<Figure>;

/// The figures of a report for which the results suffice.
Figures report_figures(const ReportInput& input);

/// The names of all figure files that a report may have.
std::vector<std::string> figure_files();

}  // namespace dlscale::report
