// Writes a sample report for check_report.py: write_samples FOLDER

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "report/report.hpp"
#include "report/validation_table.hpp"
#include "tests/report/samples.hpp"

namespace {

void write_samples(const std::filesystem::path& folder) {
  namespace report = dlscale::report;
  std::filesystem::create_directories(folder);
  report::ReportInput input = report::samples::report_input();
  input.results.front().header.environment.cpu = "<b>Hostile & \"quoted\" | name</b>";
  const report::Figures figures = report::run_plots(input, folder);
  std::ofstream(folder / "report.html") << report::html(input, figures);
  std::ofstream(folder / "report.md") << report::markdown(input, figures);
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
