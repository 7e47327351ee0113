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

/// Conditions under which a cell of messages is measured.
struct MessageConditions {
  backend::WaitPolicy waiting = backend::WaitPolicy::spin;
  Bytes rotation;  ///< size of the rotated buffers for cold messages; zero for one buffer
  RotatingBuffers::Filled filled = RotatingBuffers::Filled::every_turn;
  std::vector<std::string> warnings = {};
  /// The device whose memory holds the messages; null: host memory.
  std::shared_ptr<backend::ComputeDevice> device = {};
  std::optional<DeviceWitness> witness = {};  ///< for the device; empty: opened for this cell
};

/// Checks the result exactly, then takes samples. A wrong result gives a row without times; an
/// unsupported message or lack of memory gives a row with its reason. Collective.
///
/// For messages in device memory the row also has the conditions of the device
/// (bench/quiet/device_watch.hpp). If the library has a cost model, it has "library_estimate" (s),
/// the predicted time, and the implementation ends with the library's own algorithm.
Measurement measure_traffic(const Message& message, const MessageConditions& conditions,
                            const Sampler& sampler);

/// Part of measure_traffic(): the most memory that a cell needs. The checked numbers are freed
/// before the buffers are allocated; the last buffer begins within the rotation.
Bytes memory_of(const Traffic& traffic, Bytes rotation);

/// Collective: buffers filled with ones, whose sums stay small.
std::unique_ptr<RotatingBuffers> make_buffers(backend::Communicator& ranks, const Traffic& traffic,
                                              const Message& message,
                                              const MessageConditions& conditions);

/// A row without times for a wrong result.
Measurement wrong_row(const std::string& reason);

}  // namespace dlscale::bench
