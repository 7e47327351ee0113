#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/results/measurement.hpp"
#include "report/comparison/ratio.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A time and the ends of its interval, if it has one: 95 % of a measured median, 90 % of a
/// prediction.
struct ComparedTime {
  Seconds time;
  std::optional<Seconds> low = {};
  std::optional<Seconds> high = {};
  Repeats launches = {};  ///< samples of each launch, s; empty for a prediction
};

/// Results of one source: one machine, or predicted times.
struct ResultSource {
  std::string name;  ///< for people: the folder, or the file of predictions
  std::vector<ResultFile> results;
  /// A predicted time of an iteration, with the axes that side_by_side() compares at.
  struct Predicted {
    /// network, batch, dtype, ranks, schedule; synchronisation, sharding, bucket and inter_node
    /// where the file states them
    std::map<std::string, std::string> axes;
    ComparedTime time;
    std::string device = {};     ///< the cluster
    std::string framework = {};  ///< that was asked for; may be empty
  };
  std::vector<Predicted> predicted;
};

/// A time in one column, with its place among those of the same question.
struct Timing {
  std::string benchmark;
  std::string measurement;                      ///< as SideBySide::Row::question
  std::map<std::string, std::string> question;  ///< its axes
  std::string column;
  std::string device;     ///< GPU, processor or predicted cluster
  std::string software;   ///< backend or framework; may be empty
  std::string basis;      ///< "measured" or "predicted"
  ComparedTime time;      ///< of an iteration or of one run
  std::size_t place = 1;  ///< 1 is the fastest
  double of_fastest = 1;  ///< time over that of the fastest
};

/// Medians of the same question from several sources, backends and settings. The founding project
/// of dlscale published this table of frameworks (network × batch × framework, seconds a mini-batch
/// and speed-ups).
struct SideBySide {
  struct Row {
    std::string question;  ///< "e2e network=alexnet batch=8 dtype=f32 ranks=2"
    std::vector<std::optional<ComparedTime>> times;  ///< one per column, where it has one
  };
  /// "A · onednn · wait_free": the source, and other distinguishing settings
  std::vector<std::string> columns;
  std::vector<bool> predicted;           ///< one per column
  std::vector<Row> rows;                 ///< rows with a time in at least two columns
  std::size_t alone = 0;                 ///< number of questions that only one column answers
  std::vector<std::string> differences;  ///< "cpu: A: …; B: …"
  /// All trainings and the kernels in rows, question by question, the fastest first.
  std::vector<Timing> timings;
};

/// Compares training runs at network, batch, dtype and ranks, so that schedules and backends stand
/// side by side. Other benchmarks are compared at all axes except backend and algorithm. A time is
/// the median over repeats of the median over samples; only rows with status ok or unstable count.
/// Its interval is that of the median over repeats; of fewer than 6, it spans theirs.
SideBySide side_by_side(const std::vector<ResultSource>& sources);

/// The predictions in a document with the schema of a prediction or sweep. Throws ConfigError that
/// names the file for another schema, a missing or mistyped value, a time outside its interval, or
/// two predictions with the same axes.
std::vector<ResultSource::Predicted> predictions_of(std::string_view text, const std::string& name);

/// All trainings with network, device, software and batch, the fastest of each question first;
/// seconds of each column, their ratio to the first (above 1 is slower); and differences between
/// the environments. Tables without a row are left out.
std::vector<Table> side_by_side_tables(const SideBySide& all);

/// The same as a document {"schema": "dlscale.side_by_side", "version": 1}.
Document side_by_side_document(const SideBySide& all);

}  // namespace dlscale::report
