#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "report/table/table.hpp"

namespace dlscale::report {

/// A drawing on a page, drawn by report/figure/.
struct Figure {
  std::string name;  ///< name of its FigureSlot: "phases", "roofline"
  std::string title;
  std::string alt;  ///< description for screen readers
  std::string svg;
  std::filesystem::path file;  ///< path of the SVG, relative to the page
  Table data = {};             ///< the numbers that the drawing shows, for those who cannot see it
};
using Figures = std::vector<Figure>;

}  // namespace dlscale::report
