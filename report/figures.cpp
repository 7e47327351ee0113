#include "report/figures.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/error.hpp"
#include "report/axes.hpp"
#include "report/figure/bus_bandwidth.hpp"
#include "report/figure/training_figures.hpp"
#include "report/history_section.hpp"
#include "report/numbers.hpp"
#include "report/page/svg_text.hpp"
#include "report/placed_table.hpp"
#include "report/process.hpp"
#include "report/report.hpp"
#include "report/validation_table.hpp"

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

/// Adds the result files of a benchmark that are still where they were read.
void append_files(Plot& plot, const ReportInput& input, std::string_view benchmark) {
  for (const ResultFile& file : input.results) {
    if (file.header.benchmark == benchmark && fs::exists(file.path)) {
      plot.arguments.push_back(file.path.string());
    }
  }
}

Plot phases_plot(const ReportInput& input, const fs::path& folder) {
  write_text(folder / "validation.json",
             validation_document(input.validation, input.limits).json());
  return {{"phases", "Phases of an iteration, predicted beside measured",
           fmt::format("Stacked bars of the phases of an iteration in milliseconds for {}; for "
                       "each a predicted and a measured bar. The table of phases has the numbers.",
                       counted(static_cast<long long>(input.validation.runs.size()), "run")),
           "", ""},
          {(folder / "validation.json").string()}};
}

/// A figure of the result files of one benchmark alone.
Plot results_plot(const ReportInput& input, std::string_view benchmark, Figure figure) {
  Plot plot{std::move(figure), {}};
  append_files(plot, input, benchmark);
  return plot;
}

Plot crossover_plot(const ReportInput& input) {
  return results_plot(
      input, "conv",
      {"crossover", "The fastest algorithm, by the size of filter and image",
       "Maps of the fastest convolution algorithm, a map a pass: filter sizes from bottom to top, "
       "image sizes from left to right; each cell has the name and its lead. The tables of the "
       "fastest algorithms have the numbers.",
       "", ""});
}

Plot batch_plot(const ReportInput& input) {
  return results_plot(
      input, "conv",
      {"batch_speed", "Speed against the batch",
       "Effective speed of convolutions against the number of images, a panel a layer and a line "
       "an algorithm, with 95 % intervals. The tables by layer have the numbers.",
       "", ""});
}

Plot latency_plot(const ReportInput& input) {
  return results_plot(
      input, "latency",
      {"latency", "Latency of a pointer chase, and what asking for pages adds",
       "Latency of an access against the working set, both axes logarithmic, with the sizes of "
       "caches as measured and as the system tells them. The table of levels has the numbers.",
       "", ""});
}

Plot roofline_plot(const ReportInput& input, const fs::path& folder) {
  write_text(folder / "roofline.json",
             placed_document(*input.kernels->roofline(), input.kernels->placed(), {}, 0).json());
  Plot plot{{"roofline", "Layers under the measured ceilings: a mark a layer and algorithm",
             "Rooflines with logarithmic axes, a row a network and a panel a pass: operations a "
             "second that algorithms execute against their operations a byte, below the ceilings "
             "of memory levels and arithmetic. The tables have the numbers.",
             "", ""},
            {(folder / "roofline.json").string()}};
  append_files(plot, input, "peak");
  return plot;
}

/// Whether a convolution was measured by an algorithm with two batches.
bool has_two_batches(const ReportInput& input) {
  std::map<std::vector<std::string>, std::string> batches;
  for (const ResultFile& file : input.results) {
    for (const Measurement& each : file.measurements) {
      if (!names_algorithm(each)) continue;
      const std::string batch = axis_or_empty(each.axes, "batch");
      const auto [place, added] = batches.try_emplace(
          {axis_or_empty(each.axes, "kernel"), axis_or_empty(each.axes, "pass")}, batch);
      if (!added && place->second != batch) return true;
    }
  }
  return false;
}

bool has_sweep_of_latencies(const ReportInput& input) {
  const auto is_sweep = [](const Measurement& each) {
    return each.benchmark == "latency" && each.series.contains("working_set");
  };
  return std::ranges::any_of(input.results, [&](const ResultFile& file) {
    return std::ranges::any_of(file.measurements, is_sweep);
  });
}

std::vector<Plot> wanted_plots(const ReportInput& input, const fs::path& folder) {
  std::vector<Plot> plots;
  if (input.trained) plots.push_back(phases_plot(input, folder));
  if (input.kernels) {
    plots.push_back(crossover_plot(input));
    if (input.kernels->roofline()) plots.push_back(roofline_plot(input, folder));
    if (has_two_batches(input)) plots.push_back(batch_plot(input));
  }
  if (has_sweep_of_latencies(input)) plots.push_back(latency_plot(input));
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

/// The figures that need nothing but the program: their SVGs are written beside the others.
void append_own(Figures& figures, const ReportInput& input, const fs::path& folder) {
  std::vector<std::optional<Figure>> own;
  if (input.trained) {
    own.push_back(figure::step_stack(input.results));
    own.push_back(figure::straggler_map(input.results));
    own.push_back(figure::scaling(input.curves, input.validation));
    own.push_back(figure::bus_bandwidth(input.results, input.machine.collectives));
  } else {
    if (has_benchmark(input.results, {"e2e"})) {
      own.push_back(figure::step_stack(input.results));
      own.push_back(figure::straggler_map(input.results));
    }
    own.push_back(figure::bus_bandwidth(input.results, {}));
  }
  if (input.history) own.push_back(history_figure(*input.history));
  for (std::optional<Figure>& each : own) {
    if (!each) continue;
    write_text(folder / each->file, each->svg);
    figures.drawn.push_back(std::move(*each));
  }
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
  append_own(figures, input, folder);
  drop_unfit(figures);
  if (plots.empty()) return figures;
  const auto python = find_python();
  if (!python) {
    figures.troubles.emplace_back(
        "figures of matplotlib are missing, because neither python3 nor /usr/bin/python3 has "
        "matplotlib. "
        "Install it (apt install python3-matplotlib) and make the report again.");
    return figures;
  }
  if (!fs::exists(plots_root())) {
    figures.troubles.push_back(
        fmt::format("figures of matplotlib are missing, because the folder {} with their scripts "
                    "does not exist. Set "
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
  for (const char* stem : {"phases", "crossover", "roofline", "batch_speed", "latency"}) {
    for (const char* ending : {".svg", ".png"}) files.push_back(std::string(stem) + ending);
  }
  for (const char* own :
       {"step_stack.svg", "stragglers.svg", "speedup.svg", "allreduce.svg", "history.svg"}) {
    files.emplace_back(own);
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
