#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "regression/history/series_key.hpp"

namespace dlscale::regression::history {

/// The numbers of one side of a row, as printed.
struct NcclSide {
  bool in_place = false;
  std::string time;
  std::string algorithm_bandwidth;
  std::string bus_bandwidth;
  std::string wrong;
};

/// A row of a table of nccl-tests.
struct NcclRow {
  Facts parameters;             ///< size, type, redop, root: as far as the version prints them
  std::vector<NcclSide> sides;  ///< those that the row has
};

/// Headings of a table of nccl-tests; they locate the columns of any version. A side has a time,
/// algbw, busbw, and its number of wrong elements or, before 2.13, its largest error. Options add
/// columns (-I, -S), or rename the time (-C).
class NcclTable {
 public:
  /// Whether a line is the comment with the headings.
  static bool has_headings(std::string_view line);
  /// Throws ConfigError for headings that lack a column.
  explicit NcclTable(std::string_view line);

  /// Throws ConfigError if the words of a row do not fit the headings. The places of the words
  /// distinguish a blank column from a missing one.
  [[nodiscard]] NcclRow row(std::string_view line) const;
  /// Throws ConfigError for a row whose numbers contradict each other beyond their printed digits,
  /// since a digit of it is lost or another's. `collective` is a program of nccl-tests, or empty.
  void expect_consistent(const NcclRow& row, std::string_view collective) const;

  /// Name of the times: "cputime" with -C, the processor's time of the calls.
  [[nodiscard]] const std::string& time_name() const { return time_name_; }
  /// Seconds of 1 in the column of times.
  [[nodiscard]] double time_unit() const { return time_unit_; }
  /// Whether NCCL 1 printed the table, before its tests were a program of their own.
  [[nodiscard]] bool is_of_nccl_1() const { return time_unit_ > 1e-6; }
  /// Whether the last column of a side has a number of wrong elements; else the largest error.
  [[nodiscard]] bool counts_wrong() const { return counts_wrong_; }

 private:
  struct Word {
    std::string text;
    std::size_t end = 0;  ///< offset in the line behind its last letter
  };
  struct SideColumns {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t algorithm_bandwidth = 0;
    std::size_t bus_bandwidth = 0;
    std::size_t wrong = 0;
  };
  static std::vector<Word> words_of(std::string_view line);
  void expect_no_bandwidths_before(std::size_t time) const;
  [[nodiscard]] SideColumns side_from(std::size_t time, std::size_t end) const;
  [[nodiscard]] std::vector<std::string> cells_of(const std::vector<Word>& words) const;
  /// Sets of columns that versions and options leave blank: parameters in words, and a whole side.
  [[nodiscard]] std::vector<std::vector<bool>> blank_columns() const;

  std::vector<Word> headings_;
  std::size_t parameters_ = 0;  ///< number of columns before the first side
  std::vector<SideColumns> sides_;
  std::vector<std::vector<bool>> blanks_;  ///< blank_columns()
  std::string time_name_;
  double time_unit_ = 1e-6;
  bool counts_wrong_ = true;
};

}  // namespace dlscale::regression::history
