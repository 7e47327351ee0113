#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/launcher_lines.hpp"
#include "regression/import/imports.hpp"
#include "regression/import/printed_number.hpp"

namespace dlscale::regression::history {
namespace {

constexpr std::string_view osu_title = "# OSU ";

/// Words of a title of OSU's benchmarks, and the collective that dlscale calls so. The longer of
/// two titles that begin alike is first.
struct OsuCollective {
  std::string_view title;
  std::string_view name;
};
constexpr std::array osu_collectives{OsuCollective{"Allreduce", "all_reduce"},
                                     OsuCollective{"Allgatherv", "all_gatherv"},
                                     OsuCollective{"Allgather", "all_gather"},
                                     OsuCollective{"Broadcast", "broadcast"},
                                     OsuCollective{"Bcast", "broadcast"},
                                     OsuCollective{"Reduce_scatter", "reduce_scatter"},
                                     OsuCollective{"Reduce-Scatter", "reduce_scatter"},
                                     OsuCollective{"Reduce", "reduce"},
                                     OsuCollective{"All-to-All", "all_to_all"},
                                     OsuCollective{"Alltoall", "all_to_all"}};

/// The quantity of the first column of numbers.
struct OsuQuantity {
  std::string_view heading;
  const char* metric;
  const char* unit;
  Direction direction;
  double scale;
};
constexpr std::array osu_quantities{
    OsuQuantity{"Avg Latency(us)", "time", "s", Direction::smaller_is_better, 1e-6},
    OsuQuantity{"Latency (us)", "time", "s", Direction::smaller_is_better, 1e-6},
    OsuQuantity{"Overall(us)", "time", "s", Direction::smaller_is_better, 1e-6},
    OsuQuantity{"Bandwidth (MB/s)", "bandwidth", "B/s", Direction::larger_is_better, 1e6}};

bool is_size(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The tests that one process printed, one after the other.
class OsuReader {
 public:
  void read(std::string_view line) {
    if (line.starts_with(osu_title)) return read_title(line.substr(osu_title.size()));
    if (line.starts_with("# Size")) return read_headings(line);
    if (line.starts_with('#') || key_.suite.empty()) return;
    read_row(line);
  }

  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// Adds all that was read.
  void add_to(ImportedRun& run) const {
    run.points.insert(run.points.end(), points_.begin(), points_.end());
    run.notes.insert(run.notes.end(), notes_.begin(), notes_.end());
  }

 private:
  /// "MPI-CUDA Allreduce Latency Test v7.3".
  void read_title(std::string_view title) {
    const std::size_t test = title.find(" Test");
    std::string_view version = test == std::string_view::npos ? "" : title.substr(test + 5);
    version.remove_prefix(std::min(version.find_first_not_of(" v"), version.size()));
    version = version.substr(0, version.find_last_not_of(" \r") + 1);
    title = title.substr(0, test);
    const std::size_t space = title.find(' ');
    key_ = {};
    quantity_ = nullptr;
    key_.suite = "OSU";
    key_.axes["library"] = std::string(title.substr(0, space));
    if (!version.empty()) key_.environment["OSU Micro-Benchmarks"] = std::string(version);
    const std::string_view name = space == std::string_view::npos ? "" : title.substr(space + 1);
    key_.axes["test"] = std::string(name);
    for (const OsuCollective& known : osu_collectives) {
      if (!name.starts_with(known.title)) continue;
      key_.axes["collective"] = std::string(known.name);
      key_.axes.erase("test");
      return;
    }
  }

  void read_headings(std::string_view line) {
    quantity_ = nullptr;
    std::size_t first = std::string_view::npos;
    for (const OsuQuantity& known : osu_quantities) {
      const std::size_t at = line.find(known.heading);
      if (at >= first) continue;
      first = at;
      quantity_ = &known;
    }
    if (quantity_ == nullptr) {
      throw ConfigError(
          "the headings have no latency or bandwidth that OSU's benchmarks print first");
    }
  }

  /// "1048576   812.35", with further columns in full listings, and "Pass" or "Fail" at the end
  /// with validation.
  void read_row(std::string_view line) {
    std::istringstream stream{std::string(line)};
    std::string size;
    std::string value;
    stream >> size >> value;
    if (!is_size(size) || value.empty()) return;  // words of a launcher or a job
    if (quantity_ == nullptr) throw ConfigError("a row comes before its headings");
    ++rows_;
    for (std::string word; stream >> word;) {
      if (word != "Fail" && word != "FAIL" && word != "fail") continue;
      notes_.push_back(fmt::format("left out: {} B failed the validation", size));
      return;
    }
    const double read = printed_number(value, quantity_->heading);
    if (!(read > 0)) {
      notes_.push_back(fmt::format("left out: {} B with {} {}, which nothing measured can be", size,
                                   quantity_->heading, value));
      return;
    }
    add(size, read * quantity_->scale, printed_rounding(value) * quantity_->scale);
  }

  void add(const std::string& size, double value, double rounding) {
    SeriesKey key = key_;
    key.axes["size"] = size;
    key.metric = quantity_->metric;
    key.unit = quantity_->unit;
    key.direction = quantity_->direction;
    Point point;
    point.summary = summarize(std::array{value});
    point.rounding = rounding;
    points_.push_back({std::move(key), std::move(point)});
  }

  std::vector<KeyedPoint> points_;
  std::vector<std::string> notes_;
  SeriesKey key_;
  const OsuQuantity* quantity_ = nullptr;
  std::size_t rows_ = 0;
};

}  // namespace

Origin add_osu(ImportedRun& run) {
  std::map<std::string, OsuReader> processes;
  LauncherLines lines(run.content);
  for (LauncherLine line; lines.next(line);) {
    try {
      processes[line.source].read(line.text);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("line {}: {}", line.number, error.what()));
    }
  }
  std::erase_if(processes, [](const auto& process) { return process.second.rows() == 0; });
  if (processes.empty()) throw ConfigError("it has a title of OSU's benchmarks and no rows");
  if (processes.size() > 1) {
    throw ConfigError(
        "several processes printed a table each, where rank 0 alone does. Keep the lines of one "
        "launch");
  }
  processes.begin()->second.add_to(run);
  return {};
}

}  // namespace dlscale::regression::history
