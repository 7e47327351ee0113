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

/// The sources of the ceilings for a benchmark's rows.
struct ShareOptions {
  std::string cluster;                ///< cluster with the data sheet; empty: none
  std::vector<std::string> ceilings;  ///< result files, as `roofline show` takes them; empty: none
  int threads = 1;                    ///< threads of the rows and of the ceilings
};

/// Relates measured kernels to the peak and the roofline of their device.
class RowShares {
 public:
  /// Throws ConfigError if the cluster or the results cannot be read, or if the results lack a
  /// ceiling or are from several hosts.
  explicit RowShares(const ShareOptions& options);
  /// Throws ConfigError if the results are from another host or processor than this process runs
  /// on. Rows would have shares of another machine's roofline.
  void expect_measured_here() const;
  /// A warning if the data sheet is that of a GPU and the rows run on a processor, or the other way
  /// round; empty otherwise.
  [[nodiscard]] std::string doubt(backend::DataPlace place) const;
  /// Hash of all ceilings, 16 hexadecimal digits; it changes with any ceiling.
  [[nodiscard]] std::string hash() const;
  /// Sets share_of_peak and share_of_roofline of a row with a time and declared work. It uses the
  /// data sheet's peaks and the processor's rooflines, as far as they are known for the row's
  /// precision.
  void add(Measurement& measurement) const;

 private:
  [[nodiscard]] Seconds least_time(const Measurement& measurement) const;

  std::optional<Device> sheet_;                  ///< device of the peaks
  std::map<std::string, FlopsPerSecond> peaks_;  ///< by precision
  /// Rooflines by precision; f32 is present unless empty.
  std::map<std::string, model::HierarchicalRoofline> rooflines_;
  Environment measured_on_;  ///< machine of the rooflines
};

}  // namespace dlscale::app
