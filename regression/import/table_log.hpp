#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/launcher_lines.hpp"
#include "regression/history/run.hpp"

namespace dlscale::regression::history {

/// A finite number as a program printed it, also with an exponent (1.67772e+07). Throws ConfigError
/// that names the column for anything else.
double printed_number(std::string_view word, std::string_view column);

/// Half the unit of the last digit of such a number: 0.005 of "34.05", 50 of "1.677e+05".
double printed_rounding(std::string_view word);

/// Whether the word has only digits.
bool is_whole_number(std::string_view word);

/// The words of a line.
std::vector<std::string> words_in(const std::string& text);

/// The error of a row that has fewer or more words than its table has headings.
ConfigError wrong_columns(std::size_t words, std::size_t headings);

/// Whether the line has headings of columns, as tables of nccl-tests, perftest and the Intel MPI
/// Benchmarks have: three or more, set apart by wide gaps, with a size, a time or a rate among
/// them.
bool has_headings_of_columns(std::string_view line);

/// The name that dlscale gives a collective by its name in OSU's titles or nccl-tests; nothing for
/// any other name, of variants (Allreduce Persistent) too.
std::optional<std::string_view> collective_named(std::string_view name);

/// A program of nccl-tests, by its name without "_perf".
struct NcclProgram {
  std::string_view name;
  bool has_one_block = false;  ///< its size is that of the count; others count those of one rank
};
/// nullptr for a name that no version has.
const NcclProgram* nccl_program(std::string_view name);

/// Whether NCCL printed the line ("host:12:34 [0] NCCL INFO …"), whose host may begin with a digit.
/// A line that begins with a whole number is a row, also if text of NCCL follows in it.
bool is_line_of_nccl(std::string_view text);

/// At most 120 letters of a line, quoted for a message.
std::string quoted_line(std::string_view text);

/// Lines by which a job or a test says that it ended with an error.
class JobErrors {
 public:
  void read(const LauncherLine& line);
  /// Adds a note about the first such line.
  void add_to(ImportedRun& run) const;
  /// The same behind a semicolon, for the reason why a file has no rows; empty without such lines.
  [[nodiscard]] std::string as_reason() const;

 private:
  [[nodiscard]] std::string text() const;

  std::size_t count_ = 0;
  std::string first_;
};

/// A launch as the text before its tables describes it.
struct LaunchText {
  std::string settings;  ///< those that were printed up to then, and the last command line
  std::string line;      ///< that printed the last of them, quoted
};
/// Tables of one launch share it: a log may print its whole environment, and have many tables.
using Launch = std::shared_ptr<const LaunchText>;

/// Finds what programs and scripts print of the launches whose tables follow: command lines,
/// variables of the environment, and numbers of ranks, nodes and devices. Numbers of repetitions,
/// times and names of jobs are passed over.
class LaunchTexts {
 public:
  void read(const LauncherLine& line);
  [[nodiscard]] Launch last() const;

 private:
  void set(const std::string& name, std::string value, const LauncherLine& line);

  std::map<std::string, std::string> settings_;
  std::string last_line_;
  mutable Launch last_;  ///< made of these when it is asked for; null after a change
};

/// The launches that series are of.
class LaunchesOfSeries {
 public:
  /// A value of a series. Remembers the launch if another printed a value of the same series.
  void add(const SeriesKey& key, const Launch& launch);
  /// Throws ConfigError if launches that differ printed equal series, since nothing keeps these
  /// apart.
  void expect_one_each() const;

 private:
  std::map<std::string, Launch> launches_;  ///< the first of each series
  std::string second_line_;
};

/// Whether two logs have the same values.
bool are_same(const ImportedRun& a, const ImportedRun& b);

/// Lines within a table that are neither rows nor comments.
class OtherLines {
 public:
  /// A line that counts if the table goes on after it.
  void read(const LauncherLine& line);
  /// The table goes on.
  void settle();
  /// Adds a note about these lines of a table.
  void add_to(ImportedRun& run, std::string_view table) const;

 private:
  std::size_t waiting_ = 0;
  std::size_t within_ = 0;
  std::string first_;
};

/// Rows below the headings of another program's table in a log.
class RowsOfOtherTables {
 public:
  void begin(const LauncherLine& headings);
  /// A table of this program begins.
  void end() { is_open_ = false; }
  /// Whether the line is a row of such a table: it begins with a number, and has more of them.
  bool read(const LauncherLine& line);
  /// Adds a note that they are left out of the `program`'s.
  void add_to(ImportedRun& run, std::string_view program) const;

 private:
  bool is_open_ = false;
  std::string headings_;  ///< of the table that is open
  std::string first_;     ///< those of the first rows
  std::size_t rows_ = 0;
};

/// Rows that no headings say anything of: what a launcher put before the headings, or before these
/// rows, hides them.
class RowsWithoutHeadings {
 public:
  void read(const LauncherLine& line);
  void add(const RowsWithoutHeadings& others);
  /// Adds a note that they are left out.
  void add_to(ImportedRun& run) const;

 private:
  std::size_t count_ = 0;
  std::size_t first_ = 0;
};

}  // namespace dlscale::regression::history
