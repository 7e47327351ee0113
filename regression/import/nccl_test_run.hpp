#pragma once
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "regression/history/run.hpp"
#include "regression/import/nccl_table.hpp"
#include "regression/import/table_log.hpp"

namespace dlscale::regression::history {

/// One test of nccl-tests: its settings, its rows and its own verdict.
class NcclTest {
 public:
  /// Parts of the text of a test, in order.
  enum class Part { nothing, version, name, settings, ranks, headings, rows, verdict };

  NcclTest();
  /// The last part that was read.
  [[nodiscard]] Part part() const { return part_; }
  [[nodiscard]] bool has_name() const { return key_.axes.contains("collective"); }
  [[nodiscard]] bool has_headings() const { return table_.has_value(); }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// "all_reduce", or "the test" without a name.
  [[nodiscard]] std::string name() const;

  /// "nccl-tests version 2.18.3 nccl-headers=23003 nccl-library=23003".
  void read_versions(const std::vector<std::string>& words);
  /// "all_reduce_perf", with or without folders and what builds add (lt-, _mpi, .exe).
  void read_name(std::string_view program);
  /// "nThread 1 nGpus 1 minBytes 8 … agg iters: 1 validation: 1 graph: 0". The range of sizes is
  /// skipped, since each size is judged by itself.
  void read_settings(const std::vector<std::string>& words);
  /// "Blocking Enabled: wait and barrier after each inner iteration (-m)".
  void read_blocking(std::string_view line);
  /// "Rank 0 Group 0 Pid 653 on host device 0 [0000:06:00] NVIDIA H100 80GB HBM3". Throws
  /// ConfigError for a rank that is there already.
  void read_rank(std::string_view line, const std::vector<std::string>& words);
  /// The list of ranks was cut ("..."), as one process prints 2047 letters at most.
  void cut_ranks() { ranks_are_cut_ = true; }
  /// `titles` is the comment before: "out-of-place   in-place".
  void read_headings(std::string_view line, std::string_view titles);
  /// Notes a name that no program of nccl-tests has, unless the options name the collective.
  void doubt_name(const RunOptions& options);
  /// Throws ConfigError if neither the text nor the options name the collective.
  void expect_name(const RunOptions& options) const;
  /// Adds the values of a row. Throws ConfigError for a row that is not of this table.
  void read_row(std::string_view line);
  /// A line within the table that is neither a row nor a comment.
  void read_other(const LauncherLine& line) { others_.read(line); }
  /// "Avg bus bandwidth : 12.3 FAILED".
  void read_bandwidth(std::string_view line);
  /// "Out of bounds values : 4 FAILED".
  void read_verdict(const std::vector<std::string>& words);
  /// The launch that printed the rows.
  void set_launch(Launch launch) { launch_ = std::move(launch); }
  [[nodiscard]] const Launch& launch() const { return launch_; }
  /// A row that was left out.
  void note(std::string text) { notes_.push_back(std::move(text)); }

  /// Adds the points of the rows that are right, notes about the others, and the hosts.
  void add_to(ImportedRun& run, std::set<std::string>& hosts);

 private:
  /// The values of one side of a row.
  struct Side {
    std::string name;  ///< "1024 B in place"
    std::vector<KeyedPoint> points;
    std::string fault;         ///< why it is left out; empty: it is not
    bool is_wrong = false;     ///< its answer is wrong or doubtful
    bool is_at_limit = false;  ///< the fault is an error that only its rounding puts above a limit
  };
  void add_side(const SeriesKey& key, const NcclSide& side);
  void judge(Side& side, const std::string& wrong, const std::string& type) const;
  void judge_error(Side& side, const std::string& error, const std::string& type) const;
  struct Printed {
    double value = 0;
    double rounding = 0;
  };
  void add_ranks();
  void add_rows(ImportedRun& run);
  void add_point(Side& side, const char* metric, const char* unit, Direction direction,
                 Printed printed, SeriesKey key) const;

  SeriesKey key_;
  Part part_ = Part::nothing;
  std::optional<NcclTable> table_;
  bool only_in_place_ = false;  ///< the one side of the table
  std::set<int> ranks_;
  std::set<std::string> groups_;
  bool ranks_are_cut_ = false;
  std::set<std::string> hosts_;
  std::set<std::string> devices_;
  std::size_t rows_ = 0;
  std::vector<Side> sides_;
  enum class Verdict { missing, ok, failed } verdict_ = Verdict::missing;
  std::string verdict_text_;
  std::vector<std::string> notes_;
  OtherLines others_;
  Launch launch_;
};

}  // namespace dlscale::regression::history
