#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Results that belong together: of one machine, or times that were predicted.
struct ResultSource {
  std::string name;  ///< for people: the folder, or the file of predictions
  std::vector<ResultFile> results;
  /// Predicted times of an iteration: by the axes that side_by_side() compares at, and how.
  struct Predicted {
    std::map<std::string, std::string> axes;  ///< network, batch, dtype, ranks, schedule
    Seconds time;
  };
  std::vector<Predicted> predicted;
};

/// Medians of the same question from several sources, backends and settings: the table that the
/// founding project of dlscale published of frameworks (network × batch × framework, seconds a
/// mini-batch and speed-ups).
struct SideBySide {
  struct Column {
    std::string name;  ///< "A · onednn · wait_free": the source, and what else tells it apart
    std::size_t source = 0;
  };
  struct Row {
    std::string question;        ///< "e2e network=alexnet batch=8 dtype=f32 ranks=2"
    std::vector<Seconds> times;  ///< a column each; 0 where it was not measured
  };
  std::vector<Column> columns;
  std::vector<Row> rows;                 ///< those with a time in two columns at least
  std::size_t alone = 0;                 ///< questions that only one column answers
  std::vector<std::string> differences;  ///< "cpu: A: …; B: …"
};

/// Training runs are compared at network, batch, dtype and ranks, so that schedules and backends
/// stand beside each other; other benchmarks at all axes but backend, algorithm apart. A time is
/// the median over repeats of the median over samples; only rows with status ok or unstable count.
SideBySide side_by_side(const std::vector<ResultSource>& sources);

/// The predictions in a document of "dlscale predict --format json". Throws ConfigError that names
/// the file: not that schema, or a value that is missing or of another type.
std::vector<ResultSource::Predicted> predictions_of(std::string_view text, const std::string& name);

/// Seconds of each column, the ratio of each to the first (above 1 is slower), and what differs in
/// where it was measured. Tables without a row are left out.
std::vector<Table> side_by_side_tables(const SideBySide& all);

/// The same as a document {"schema": "dlscale.side_by_side", "version": 1}.
Document side_by_side_document(const SideBySide& all);

}  // namespace dlscale::report
