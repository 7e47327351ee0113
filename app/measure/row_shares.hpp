#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/cluster/cluster.hpp"
#include "core/results/measurement.hpp"
#include "model/roofline/kernels/ceilings.hpp"

namespace dlscale::app {

/// Where the ceilings of a benchmark's rows come from.
struct ShareOptions {
  std::string cluster;                ///< whose data sheet; empty: none
  std::vector<std::string> ceilings;  ///< results, as `roofline show` takes them; empty: none
  int threads = 1;                    ///< that the rows and the ceilings are of
};

/// Tells of measured kernels how close they came to what the device can do.
class RowShares {
 public:
  /// Throws ConfigError if the cluster or the results cannot be read, or the results lack a ceiling
  /// or are of several hosts.
  explicit RowShares(const ShareOptions& options);
  /// Throws ConfigError if the results are of another host or processor than this process runs on:
  /// rows would have shares of another machine's roofline.
  void expect_measured_here() const;
  /// What is questionable about the peaks for rows that run in that place: that their data sheet is
  /// of a GPU and not of a processor, or the other way round. Empty if nothing is.
  [[nodiscard]] std::string doubt(backend::DataPlace place) const;
  /// Of all ceilings, 16 hexadecimal digits: they change when a ceiling does.
  [[nodiscard]] std::string hash() const;
  /// Sets share_of_peak and share_of_roofline of a row with a time and declared work, as far as the
  /// ceilings are known for the row's precision: those of the data sheet, and the rooflines of the
  /// processor.
  void add(Measurement& measurement) const;

 private:
  [[nodiscard]] Seconds least_time(const Measurement& measurement) const;

  std::optional<Device> sheet_;                                   ///< that the peaks are of
  std::map<std::string, FlopsPerSecond> peaks_;                   ///< by precision
  std::map<std::string, model::HierarchicalRoofline> rooflines_;  ///< by precision; f32 if any
  Environment measured_on_;                                       ///< of the rooflines
};

}  // namespace dlscale::app
