#include "bench/host_doubts.hpp"

#include <string>
#include <vector>

#include "backend/host/host.hpp"

namespace dlscale::bench {

void add_host_doubts(Measurement& measurement, int threads,
                     const backend::Communicator& communicator) {
  if (measurement.series.empty()) return;
  const std::vector<std::string> doubts = backend::host_warnings(threads, communicator.node_size());
  measurement.warnings.insert(measurement.warnings.end(), doubts.begin(), doubts.end());
}

}  // namespace dlscale::bench
