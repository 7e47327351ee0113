#include "bench/quiet/host_warnings.hpp"

#include <string>
#include <vector>

#include "backend/host/host.hpp"

namespace dlscale::bench {
namespace {

void add(Measurement& measurement, const std::vector<std::string>& doubts) {
  if (measurement.series.empty()) return;
  measurement.warnings.insert(measurement.warnings.end(), doubts.begin(), doubts.end());
}

}  // namespace

void add_host_warnings(Measurement& measurement, int threads,
                       const backend::Communicator& communicator) {
  add(measurement, backend::host_warnings(threads, communicator.node_size()));
}

void add_compute_warnings(Measurement& measurement, int threads,
                          const backend::Communicator& communicator) {
  add_host_warnings(measurement, threads, communicator);
  add(measurement, backend::memory_node_warnings(threads, backend::usable_memory_nodes()));
}

}  // namespace dlscale::bench
