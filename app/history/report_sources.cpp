#include "app/history/report_sources.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "app/history/report_suites.hpp"
#include "app/measure/result_files.hpp"
#include "core/system/input_file.hpp"
#include "core/system/replaceable.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

bool is_prediction_file(const std::string& path) {
  return has_schema(path, "dlscale.prediction");
}

std::string last_part(const std::string& path) {
  fs::path plain = fs::path(path).lexically_normal();
  if (!plain.has_filename()) plain = plain.parent_path();
  const std::string name = plain.filename().string();
  return name.empty() || name == "." || name == ".." ? path : name;
}

}  // namespace

bool is_gate_file(const std::string& path) {
  return has_schema(path, "dlscale.gate");
}

std::vector<std::string> measured_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> measured;
  std::ranges::remove_copy_if(paths, std::back_inserter(measured), [](const std::string& path) {
    return is_prediction_file(path) || is_noise_file(path);
  });
  return measured;
}

std::vector<report::ResultSource> read_sources(const std::vector<std::string>& paths) {
  std::vector<report::ResultSource> sources;
  for (const std::string& path : paths) {
    const auto same = std::ranges::count(paths, last_part(path), last_part);
    report::ResultSource source{same > 1 ? path : last_part(path), {}, {}};
    if (is_prediction_file(path)) {
      source.predicted = report::predictions_of(read_input(path, "Check the path."), path);
    } else {
      source.results = all_results({path});
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

void add_side_by_side(report::ReportInput& input, const std::vector<std::string>& paths) {
  const auto is_source = [](const std::string& path) {
    std::error_code error;
    return fs::is_directory(path, error) || is_prediction_file(path);
  };
  if (std::ranges::count_if(paths, is_source) < 2) return;
  report::SideBySide all = report::side_by_side(read_sources(paths));
  if (!all.rows.empty()) input.side_by_side = std::move(all);
}

}  // namespace dlscale::app
