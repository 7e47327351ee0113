#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale {

/// A layer of a training that somebody timed.
struct TimedLayer {
  std::string name;
  Seconds forward;   ///< ≥ 0
  Seconds backward;  ///< ≥ 0: what the layer adds to the backward pass
  Bytes gradient;    ///< as it travels; 0: it has no parameters
};

/// An iteration of one worker that somebody timed layer by layer.
struct TimedLayers {
  std::string name;                 ///< of the file, without folder and ending
  std::vector<TimedLayer> layers;   ///< in the order of the forward pass; ≥ 1
  Seconds io;                       ///< to read and decode a batch
  Seconds h2d;                      ///< to copy it to the device
  Seconds update;                   ///< of the parameters
  std::vector<std::string> untold;  ///< those of io_s, h2d_s and update_s that the file lacks

  [[nodiscard]] Seconds forward() const;
  [[nodiscard]] Seconds backward() const;
};

/// Reads a CSV file (core/text/csv_table.hpp) with a line a layer, in the order of the forward pass, and
/// the columns layer, forward_s, backward_s, gradient_bytes and, if it is known, io_s, h2d_s and
/// update_s, which are summed over all lines. Throws ConfigError; also where nothing computes and
/// where no layer has a gradient.
TimedLayers read_timed_layers(const std::filesystem::path& path);

/// An all-reduce that somebody timed.
struct TimedMessage {
  int ranks = 0;  ///< ≥ 2
  Bytes size;     ///< > 0: of the vector of one rank
  Seconds time;
};

/// Reads a CSV file with a line a measurement and the columns ranks, bytes and time_s, as OSU's
/// benchmarks and nccl-tests print them. Throws ConfigError.
std::vector<TimedMessage> read_timed_messages(const std::filesystem::path& path);

}  // namespace dlscale
