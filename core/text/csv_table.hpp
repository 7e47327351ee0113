#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale {

/// A column that a kind of file may have; its unit stands at the end of its name.
struct CsvColumn {
  std::string_view name;
  bool required = true;
};

/// A file of comma-separated values as people and spreadsheets write them, read strictly. Lines
/// that begin with # and blank lines are passed over; the first other line names the columns, in
/// any order. A cell may stand in double quotes, in which "" is one of them; it ends on its line.
/// Columns of other names are passed over, but refused where they are nearly one that is known and
/// not there, since they are that one misspelt. All that is wrong throws ConfigError that names
/// file, line and column, and what to write.
class CsvTable {
 public:
  /// `what` says in a sentence what the file is to hold: "times of layers".
  CsvTable(const std::filesystem::path& path, std::string_view what,
           std::span<const CsvColumn> known);

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] bool has(std::string_view column) const;
  /// Of a column that is there, as everything below: not empty.
  [[nodiscard]] std::string text(std::size_t row, std::string_view column) const;
  /// Finite, from 0 to `most`.
  [[nodiscard]] double number(std::size_t row, std::string_view column, double most) const;
  /// Whole, from 1 to `most`.
  [[nodiscard]] int count(std::size_t row, std::string_view column, int most) const;
  /// "FILE:LINE", for sentences about a row.
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
