#include "report/figures.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "report/json/json.hpp"
#include "report/numbers.hpp"
#include "report/page/svg_text.hpp"
#include "report/process.hpp"
#include "report/report.hpp"

namespace dlscale::report {
namespace {

namespace fs = std::filesystem;

/// A figure to be drawn: the script <name>.py and what it reads.
struct Plot {
  Figure figure;
  std::vector<std::string> arguments;
};

/// The first Python that can import matplotlib.
std::optional<std::string> find_python() {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    if (run_process({python, "-c", "import matplotlib"}).status == 0) return python;
  }
  return {};
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  if (!file) {
    throw ConfigError(fmt::format(
        "{} cannot be written, so no figure can be drawn. Choose a folder you may write to, on a "
        "disk with space left.",
        path.string()));
  }
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw ConfigError(fmt::format("the folder {} cannot be made: {}. Choose another place.",
                                  folder.string(), error.message()));
  }
}

std::string all_predictions(const ReportInput& input) {
  std::vector<model::Prediction> all;
  for (const auto& curve : input.curves) all.insert(all.end(), curve.begin(), curve.end());
  return prediction_json(all);
}

/// Result files with all-reduce times that are still where they were read.
std::vector<std::string> collective_files(const ReportInput& input) {
  std::vector<std::string> files;
  for (const ResultFile& file : input.results) {
    if (file.header.benchmark == "comm" && fs::exists(file.path)) {
      files.push_back(file.path.string());
    }
  }
  return files;
}

std::string networks(const ReportInput& input) {
  std::set<std::string> names;
  for (const auto& curve : input.curves) {
    for (const auto& prediction : curve) names.insert(prediction.run.network);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Plot phases_plot(const ReportInput& input, const fs::path& folder) {
  write_text(folder / "validation.json", validation_json(input.validation, input.limits));
  return {{"phases", "Phases of an iteration, predicted beside measured",
           fmt::format("Stacked bars of the phases of an iteration in milliseconds for {}; for "
                       "each a predicted and a measured bar. The table of phases has the numbers.",
                       counted(static_cast<long long>(input.validation.runs.size()), "run")),
           "", ""},
          {(folder / "validation.json").string()}};
}

Plot speedup_plot(const ReportInput& input, const fs::path& folder) {
  write_text(folder / "predictions.json", all_predictions(input));
  return {{"speedup",
           "Speed-up over one worker: predicted (line and 95 % interval), measured (points), ideal",
           fmt::format("Speed-up against the number of workers for {}. The tables of predictions "
                       "have the numbers.",
                       networks(input)),
           "", ""},
          {(folder / "predictions.json").string(), "--validation",
           (folder / "validation.json").string()}};
}

Plot allreduce_plot(const ReportInput& input, const fs::path& folder) {
  write_text(folder / "machine.json", model::machine_json(input.machine));
  Plot plot{{"allreduce", "Time of an all-reduce: measured (points) and fitted (line)",
             "Time of an all-reduce against the size of the message, both axes logarithmic. The "
             "table of collectives has the fitted values.",
             "", ""},
            {"--machine", (folder / "machine.json").string()}};
  for (const std::string& file : collective_files(input)) plot.arguments.push_back(file);
  return plot;
}

std::vector<Plot> wanted_plots(const ReportInput& input, const fs::path& folder) {
  std::vector<Plot> plots{phases_plot(input, folder)};
  const auto has_points = [](const auto& curve) { return curve.size() > 1; };
  if (std::ranges::any_of(input.curves, has_points)) {
    plots.push_back(speedup_plot(input, folder));
  }
  if (!input.machine.collectives.empty()) plots.push_back(allreduce_plot(input, folder));
  return plots;
}

/// Runs the script; adds the figure, or why there is none.
void draw(Figures& figures, Plot plot, const std::string& python, const fs::path& folder) {
  const fs::path stem = folder / plot.figure.name;
  std::vector<std::string> command{python, (plots_root() / (plot.figure.name + ".py")).string()};
  command.insert(command.end(), plot.arguments.begin(), plot.arguments.end());
  command.insert(command.end(), {"--output", stem.string()});
  const Finished finished = run_process(command);
  if (finished.status != 0) {
    figures.troubles.push_back(
        fmt::format("the figure \"{}\" was not drawn: {}", plot.figure.name, finished.output));
    return;
  }
  plot.figure.file = plot.figure.name + ".svg";
  plot.figure.svg = read_text(stem.string() + ".svg");
  figures.drawn.push_back(std::move(plot.figure));
}

/// A figure that a page cannot hold is trouble now, not when the page is written.
void drop_unfit(Figures& figures) {
  const auto unfit = [&figures](const Figure& figure) {
    try {
      static_cast<void>(inline_svg(figure.svg, figure.name, figure.alt));
      return false;
    } catch (const ConfigError& error) {
      figures.troubles.emplace_back(error.what());
      return true;
    }
  };
  std::erase_if(figures.drawn, unfit);
}

}  // namespace

Figures run_plots(const ReportInput& input, const std::filesystem::path& folder) {
  make_folder(folder);
  std::vector<Plot> plots = wanted_plots(input, folder);
  Figures figures;
  const auto python = find_python();
  if (!python) {
    figures.troubles.emplace_back(
        "there are no figures, because neither python3 nor /usr/bin/python3 has matplotlib. "
        "Install it (apt install python3-matplotlib) and make the report again.");
    return figures;
  }
  if (!fs::exists(plots_root())) {
    figures.troubles.push_back(fmt::format(
        "there are no figures, because the folder {} with their scripts does not exist. Set "
        "DLSCALE_PLOTS to the folder plots/ of the source.",
        plots_root().string()));
    return figures;
  }
  for (Plot& plot : plots) draw(figures, std::move(plot), *python, folder);
  drop_unfit(figures);
  return figures;
}

std::vector<std::string> figure_files() {
  std::vector<std::string> files;
  for (const char* stem : {"phases", "speedup", "allreduce"}) {
    for (const char* ending : {".svg", ".png"}) files.push_back(std::string(stem) + ending);
  }
  return files;
}

std::filesystem::path plots_root() {
  if (const char* chosen = std::getenv("DLSCALE_PLOTS")) return chosen;
  if (fs::exists(DLSCALE_PLOTS_FOLDER)) return DLSCALE_PLOTS_FOLDER;
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "share/dlscale/plots";
}

}  // namespace dlscale::report
