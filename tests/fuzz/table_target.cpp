#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "regression/history/run.hpp"
#include "tests/fuzz/row_counts.hpp"
#include "tests/fuzz/targets.hpp"

namespace dlscale::fuzz {
namespace {

namespace fs = std::filesystem;
namespace history = regression::history;

/// A table whose rows are as a tool prints them, but for a cell of each that the input names.
struct Table {
  std::string text;
  std::size_t rows = 0;  ///< or sides of rows
};

/// A cell of a row, as a line of the input has it: "7 nan".
struct Cell {
  std::size_t column = 0;
  std::string value;
};

/// Letters that neither end a cell nor begin a comment or the label of a launcher.
bool is_of_cell(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         std::string_view("+-.,*/%_").find(letter) != std::string_view::npos;
}

Cell cell_of(std::string_view line, std::size_t columns) {
  Cell cell;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), cell.column);
  cell.column %= columns;
  const std::size_t at = static_cast<std::size_t>(end - line.data()) + 1;
  if (at < line.size()) cell.value = line.substr(at);
  std::erase_if(cell.value, [](char letter) { return !is_of_cell(letter); });
  // A row begins with a number.
  if (cell.column == 0 || cell.value.empty()) cell.value = "1" + cell.value;
  return cell;
}

/// Writes the row of each size behind `prefix`, and the lines before and after them.
template <class RowOf, class RowsOf>
Table table_of(std::istream& input, const std::string& prefix, std::string_view before,
               RowOf row_of, std::string_view after, RowsOf rows_of) {
  Table table;
  const auto add = [&](std::string_view lines) {
    std::istringstream stream{std::string(lines)};
    for (std::string line; std::getline(stream, line);) table.text += prefix + line + '\n';
  };
  add(before);
  std::size_t size = 8;
  for (std::string line; std::getline(input, line); size += 8) {
    auto row = row_of(size);
    const Cell cell = cell_of(line, row.size());
    row[cell.column] = cell.value;
    add(fmt::format("  {}", fmt::join(row, "  ")));
    table.rows += rows_of(cell);
  }
  add(after);
  return table;
}

/// Sizes, times and rates of an all-reduce of two ranks that agree.
std::array<std::string, 13> nccl_row(std::size_t size) {
  const auto rate = [&](double microseconds) {
    return fmt::format("{:.2f}", static_cast<double>(size) / (1e3 * microseconds));
  };
  return {std::to_string(size),
          std::to_string(size / 4),
          "float",
          "sum",
          "-1",
          "20.1",
          rate(20.1),
          rate(20.1),
          "0",
          "25.2",
          rate(25.2),
          rate(25.2),
          "0"};
}

Table nccl_table(std::istream& input, const std::string& prefix) {
  constexpr std::string_view before =
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 2 minBytes 8 maxBytes 64 step: 2(factor) iters: 20 validation: 1\n"
      "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n";
  constexpr std::string_view after = "# Out of bounds values : 0 OK\n";
  constexpr std::array<std::size_t, 2> times{5, 9};
  return table_of(input, prefix, before, nccl_row, after, [&](const Cell& cell) -> std::size_t {
    const bool is_time = std::ranges::count(times, cell.column) > 0;
    return is_time && cell.value == "N/A" ? 1 : 2;  // the tool measures one side alone
  });
}

Table osu_table(std::istream& input, const std::string& prefix) {
  constexpr std::string_view before =
      "# OSU MPI Allreduce Latency Test v7.3\n"
      "# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations\n";
  const auto row = [](std::size_t size) {
    return std::array<std::string, 5>{std::to_string(size), "9.16", "8.60", "9.85", "1000"};
  };
  return table_of(input, prefix, before, row, "", [](const Cell&) -> std::size_t { return 1; });
}

}  // namespace

std::vector<std::string> table_seeds() {
  return {"n\n5 20.2\n8 3\n5 nan\n9 N/A\n0 12x\n6 -0.4\n7 1e999\n2 half\n4 0\n",
          "o\n1 3.5\n1 0.00\n0 1e6\n1 1,5\n1 -\n4 x\n", "n[1,0]<stdout>: \n5 0\n8 1.67772e+07\n",
          "o0: \n1 3.5\n1 inf\n"};
}

/// The first line has the tool's letter and what a launcher prints before each line.
void use_table(const fs::path& file) {
  std::ifstream input(file, std::ios::binary);
  std::string first;
  std::getline(input, first);
  std::string prefix = first.empty() ? "" : first.substr(1);
  std::erase(prefix, '#');
  const Table table = first.starts_with('o') ? osu_table(input, prefix) : nccl_table(input, prefix);
  const fs::path log = file.parent_path() / "table.txt";
  fs::remove(log);
  std::ofstream(log, std::ios::binary) << table.text;
  history::RunOptions options;
  options.commit = "c1";
  options.time = 0;
  const history::ImportedRun run = history::read_run(log.string(), options);
  expect_all_read("rows", table.rows, rows_told(run));
}

}  // namespace dlscale::fuzz
