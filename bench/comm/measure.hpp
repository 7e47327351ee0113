#pragma once
#include <string>
#include <vector>

#include "bench/benchmark.hpp"
#include "bench/comm/traffic.hpp"
#include "core/units.hpp"

namespace dlscale::bench {

/// How a cell of messages is measured.
struct MessageConditions {
  backend::Waiting waiting = backend::Waiting::spin;
  Bytes rotation;  ///< of buffers in turn for cold messages; zero for hot ones
  std::vector<std::string> warnings = {};
};

/// Checks the result, exactly, then takes samples. A wrong one is a row without times; what the
/// communicator or the memory does not offer is one with its reason. Collective.
Measurement measure_traffic(const Message& message, const MessageConditions& conditions,
                            const Sampler& sampler);

}  // namespace dlscale::bench
