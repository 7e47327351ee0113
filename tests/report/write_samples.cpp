// Writes a sample report for check_report.py: write_samples FOLDER

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/answers/comparison_page.hpp"
#include "report/answers/prediction_page.hpp"
#include "report/comparison/compare.hpp"
#include "report/comparison/comparison_table.hpp"
#include "report/comparison/side_by_side.hpp"
#include "report/format/format.hpp"
#include "report/history/history_view.hpp"
#include "report/prediction/prediction_table.hpp"
#include "report/sections/gate_sections.hpp"
#include "report/sections/history_section.hpp"
#include "report/sections/report.hpp"
#include "report/sections/sections.hpp"
#include "report/validation/validation_table.hpp"
#include "tests/regression/history/histories.hpp"
#include "tests/report/samples.hpp"

namespace {

void write_files(const std::filesystem::path& folder, const std::string& first,
                 const std::vector<dlscale::report::TextFile>& files) {
  std::ofstream(folder / first) << files.front().text;
  for (std::size_t i = 1; i < files.size(); ++i) {
    const std::filesystem::path file = folder / files[i].file;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << files[i].text;
  }
}

/// A page in both forms, and its figures. Further files of text lie where the first links them.
void write_page(const std::filesystem::path& folder, const std::string& name,
                const dlscale::report::Page& page) {
  write_files(folder, name + ".html", dlscale::report::html_files(page));
  write_files(folder, name + ".md", dlscale::report::markdown(page));
  for (const dlscale::report::Figure& figure : page.figures) {
    std::ofstream(folder / figure.file) << figure.svg;
  }
}

/// A page of convolutions and the processor.
void write_parts(const std::filesystem::path& folder) {
  namespace report = dlscale::report;
  report::ReportInput input = report::samples::parts_input();
  for (dlscale::ResultFile& file : input.results) {
    file.header.environment.cpu = "<b>Hostile & \"quoted\" | name</b>";
    file.path = folder / (file.header.benchmark + ".jsonl");
  }
  write_page(folder, "parts", report::report_page(input));
}

constexpr const char* hostile = "<b>Hostile & \"quoted\" | name</b>";

/// A gate's page, and its document in the formats that other programs read.
void write_gate(const std::filesystem::path& folder) {
  namespace report = dlscale::report;
  dlscale::regression::GateReport gate = report::samples::gate();
  gate.machine = hostile;
  gate.metrics.front().key += std::string(" ") + hostile + "\nline\x01 \xff\\";
  write_page(folder, "gate", report::gate_page(gate));
  const report::Document document = report::gate_document(gate);
  for (const char* name : {"junit", "openmetrics", "bencher", "comment", "csv"}) {
    std::ofstream(folder / (std::string("gate.") + name))
        << report::format::find_format(name).write(document, {});
  }
}

void write_side_by_side(const std::filesystem::path& folder) {
  namespace report = dlscale::report;
  report::ReportInput input = report::samples::report_input();
  std::vector<report::ResultSource> sources{{hostile, input.results, {}}, {"B", input.results, {}}};
  sources.back().results.front().header.environment.cpu = "Another CPU";
  input.side_by_side = report::side_by_side(sources);
  write_page(folder, "side_by_side", report::side_by_side_page(input));
}

/// A history with a change, another library, and a table of more rows than stand in a page at a
/// time.
void write_history(const std::filesystem::path& folder) {
  namespace report = dlscale::report;
  namespace history = dlscale::regression::history;
  std::filesystem::remove_all(folder / "history");
  history::Store store = history::samples::folder_store(folder / "history");
  history::SeriesKey key = history::samples::kernel(hostile);
  const auto add = [&](int first, int last, double level) {
    std::vector<history::ImportedRun> runs;
    for (int commit = first; commit <= last; ++commit) {
      const double noise = 1 + 1e-3 * (commit * 7 % 5);
      runs.push_back(history::samples::run_of({key}, commit, level * noise));
    }
    store.add(runs);
  };
  add(1, 15, 1e-3);
  key.environment["oneDNN"] = "3.0.0";
  add(16, 30, 0.9e-3);
  add(31, 45, 1e-3);
  const auto all = [](const history::SeriesKey&) { return true; };
  const report::HistoryCommands commands{
      "add", "check", [](const std::string& commit) { return "bisect " + commit; },
      [](const std::string& commit, const std::string& state) {
        return "annotate " + commit + " " + state;
      }};
  const report::HistoryView view = report::look_at_history(store, commands, all, {}, {});
  report::Page page = report::history_page(view);
  constexpr int rows = 1200;
  report::Table many{"1200 rows", {{"name", report::Align::left}, {"median"}}, {}, {}};
  for (int i = 0; i < rows; ++i) {
    // The least is far from the first.
    many.rows.push_back({{"row " + std::to_string(i)}, {std::to_string((i + 300) % rows) + " ms"}});
  }
  page.sections.push_back({"raw", "Everything measured", {report::RawRows{std::move(many)}}});
  write_page(folder, "history", page);
}

/// A comparison whose rows have a name that could be markup.
void write_comparison(const std::filesystem::path& folder) {
  namespace report = dlscale::report;
  std::vector<dlscale::ResultFile> a = report::samples::report_input().results;
  for (dlscale::ResultFile& file : a) {
    for (dlscale::Measurement& row : file.measurements) row.axes["network"] += hostile;
  }
  std::vector<dlscale::ResultFile> b = a;
  b.front().header.environment.flags = "-O3";
  const report::Document document = report::comparison_document(report::compare(a, b, 0.02));
  write_page(folder, "comparison",
             report::comparison_page(document.json(), "comparison.json").page);
}

void write_prediction(const std::filesystem::path& folder) {
  namespace report = dlscale::report;
  auto curve = report::samples::curve(hostile);
  const report::Document document = report::prediction_document(curve);
  write_page(folder, "prediction",
             report::prediction_page(document.json(), "prediction.json").page);
}

void write_samples(const std::filesystem::path& folder) {
  namespace report = dlscale::report;
  std::filesystem::create_directories(folder);
  report::ReportInput input = report::samples::report_input();
  input.results.front().header.environment.cpu = "<b>Hostile & \"quoted\" | name</b>";
  write_page(folder, "report", report::report_page(input));
  write_parts(folder);
  write_comparison(folder);
  write_prediction(folder);
  write_gate(folder);
  write_side_by_side(folder);
  write_history(folder);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: write_samples FOLDER");
    write_samples(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
