#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "bench/comm/traffic/rotating_buffers.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/quiet/device_watch.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// How a cell of messages is measured.
struct MessageConditions {
  backend::Waiting waiting = backend::Waiting::spin;
  Bytes rotation;  ///< of buffers in turn for cold messages; zero for one buffer
  RotatingBuffers::Filled filled = RotatingBuffers::Filled::every_turn;
  std::vector<std::string> warnings = {};
  /// In whose memory messages lie; null: the host's.
  std::shared_ptr<backend::ComputeDevice> device = {};
  std::optional<DeviceWitness> witness = {};  ///< of the device; absent: opened for this cell
};

/// Checks the result, exactly, then takes samples. A wrong one is a row without times; what the
/// communicator or the memory does not offer is one with its reason. Of messages in memory of a
/// device the row has, beside "time", the conditions of the device (bench/quiet/device_watch.hpp) and, if
/// the library has a model of its own, "library_estimate" (s), what that expected; how the library
/// does it ends the implementation. Collective.
Measurement measure_traffic(const Message& message, const MessageConditions& conditions,
                            const Sampler& sampler);

/// Parts of that. The memory that a cell needs at most: numbers that are checked are gone before
/// the buffers come, of which the last begins within the rotation.
Bytes memory_of(const Traffic& traffic, Bytes rotation);

/// Collective: buffers filled with ones, of which sums stay small.
std::unique_ptr<RotatingBuffers> make_buffers(backend::Communicator& ranks, const Traffic& traffic,
                                              const Message& message,
                                              const MessageConditions& conditions);

/// A row without times.
Measurement wrong_row(const std::string& reason);

}  // namespace dlscale::bench
