#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale {

/// A layer of a training whose times were measured elsewhere.
struct TimedLayer {
  std::string name;
  Seconds forward;   ///< ≥ 0
  Seconds backward;  ///< ≥ 0; time that the layer adds to the backward pass
  Bytes gradient;    ///< as transferred; 0: the layer has no parameters
};

/// An iteration of one worker, timed layer by layer elsewhere.
struct TimedLayers {
  std::string name;                 ///< file name without folder and extension
  std::vector<TimedLayer> layers;   ///< in the order of the forward pass; ≥ 1
  Seconds io;                       ///< time to read and decode a batch
  Seconds h2d;                      ///< time to copy it to the device
  Seconds update;                   ///< time to update the parameters
  std::vector<std::string> untold;  ///< those of io_s, h2d_s and update_s that the file lacks

  [[nodiscard]] Seconds forward() const;
  [[nodiscard]] Seconds backward() const;
};

/// Reads a CSV file (core/config/csv_table.hpp) with a line per layer, in the order of the forward
/// pass. Its columns are layer, forward_s, backward_s, gradient_bytes and, optionally, io_s, h2d_s
/// and update_s, which are summed over all lines. Throws ConfigError, also if no layer computes or
/// no layer has a gradient.
TimedLayers read_timed_layers(const std::filesystem::path& path);

/// An all-reduce, timed elsewhere.
struct TimedMessage {
  int ranks = 0;  ///< ≥ 2
  Bytes size;     ///< > 0; the vector of one rank
  Seconds time;
};

/// Reads a CSV file with a line per measurement and the columns ranks, bytes and time_s, as OSU's
/// benchmarks and nccl-tests print them. Leaves out a time of 0 with a note. Throws ConfigError.
std::vector<TimedMessage> read_timed_messages(const std::filesystem::path& path,
                                              std::vector<std::string>& notes);

}  // namespace dlscale
