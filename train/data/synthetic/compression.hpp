#pragma once
#include "train/data/data.hpp"

namespace dlscale::train {

/// Compression that gives the files of a set the requested size.
struct Compression {
  int quality = 90;
  double noise = 0;  ///< see draw_texture()
};

/// Finds, on some pictures of the set, the quality at which files with moderate noise come closest
/// to `spec.target_bytes`, then the noise that reaches it. The mean of a set is within a few per
/// cent. The result is the same on every machine and number of cores. Throws ConfigError if no
/// quality and noise give such files.
Compression choose_compression(const DataSetSpec& spec);

}  // namespace dlscale::train
