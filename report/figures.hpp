#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace dlscale::report {

struct ReportInput;

/// A drawing of the report.
struct Figure {
  std::string
      name;  ///< "phases", "crossover": its place in the report, and its script if it has one
  std::string title;
  std::string alt;  ///< what it shows, for those who cannot see it
  std::string svg;
  std::filesystem::path file;  ///< of the SVG, relative to the folder that run_plots() was given
};

/// Figures, and why there are none or fewer: empty, or a sentence that says what to install.
struct Figures {
  std::vector<Figure> drawn;
  std::vector<std::string> troubles;
};

/// Draws the figures that need nothing but this program (report/figure/), writes the JSON that the
/// scripts read into `folder` (made if need be; the report belongs there too, or Markdown links
/// miss the figures), runs those of plots/ whose data the results hold (SVG and PNG stay there),
/// and reads the SVGs. Python is the first of
/// python3 and /usr/bin/python3 that has matplotlib. What cannot be drawn is told in `troubles`,
/// never thrown; only a folder that cannot be written throws ConfigError.
Figures run_plots(const ReportInput& input, const std::filesystem::path& folder);

/// The pictures that run_plots() may write into its folder.
std::vector<std::string> figure_files();

/// The folder of the plot scripts: $DLSCALE_PLOTS, else that given at build time if it exists, else
/// <prefix>/share/dlscale/plots beside the program.
std::filesystem::path plots_root();

}  // namespace dlscale::report
