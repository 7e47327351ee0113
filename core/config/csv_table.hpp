#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale {

/// A column that a kind of file may have; its name ends with its unit.
struct CsvColumn {
  std::string_view name;
  bool required = true;
};

/// A file of comma-separated values from people and spreadsheets, read strictly. Blank lines and
/// lines that begin with # are skipped; the first other line names the columns, in any order. A
/// cell may be in double quotes, in which "" is one quote; it ends on its line. Unknown columns are
/// skipped, unless the name resembles a known column that is missing: then it is refused as
/// misspelt. All errors throw ConfigError, which names file, line and column, and what to write.
class CsvTable {
 public:
  /// `what` describes the expected content: "times of layers".
  CsvTable(const std::filesystem::path& path, std::string_view what,
           std::span<const CsvColumn> known);

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] bool has(std::string_view column) const;
  /// Text of a cell, which is not empty. This and the functions below require an existing column.
  [[nodiscard]] std::string text(std::size_t row, std::string_view column) const;
  /// A finite number from 0 to `most`.
  [[nodiscard]] double number(std::size_t row, std::string_view column, double most) const;
  /// An integer from 1 to `most`.
  [[nodiscard]] int count(std::size_t row, std::string_view column, int most) const;
  /// "FILE:LINE", for messages about a row.
  [[nodiscard]] std::string place(std::size_t row) const;

 private:
  struct Row {
    std::size_t line = 0;
    std::vector<std::string> cells;
  };
  void read_header(Row header, std::string_view what, std::span<const CsvColumn> known);
  [[nodiscard]] const std::string& cell(std::size_t row, std::string_view column) const;

  std::string path_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

}  // namespace dlscale
