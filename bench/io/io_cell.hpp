#pragma once
#include <memory>
#include <optional>

#include "bench/engine/benchmark.hpp"
#include "core/network/network.hpp"
#include "train/data/data.hpp"

namespace dlscale::bench {

/// Source of the pictures' bytes.
enum class FileSource {
  page_cache,  ///< every file was read recently, as in training from the second epoch on
  storage,     ///< every file is evicted from the page cache before it is read
};

/// One cell of bench io.
struct IoCell {
  std::shared_ptr<const train::DataSet> data;
  train::PipelineOptions pipeline;  ///< rank and ranks come from the communicator
  FileSource source = FileSource::page_cache;
};

/// Checks that the pipeline delivers the same as load_picture(), then drains it at full speed.
/// Series: "time" from batch to batch, and "read", "decode" and "augment" of each picture. A
/// warning says how many of the bytes came from storage, by Linux's count. If they should have but
/// did not, or the count is unknown, the status is `unsupported` and there are no times.
Measurement measure_io(const IoCell& cell, const Sampler& sampler);

/// Adds the warning or status of measure_io() if `share` of the bytes came from storage; empty:
/// unknown.
void judge_source(Measurement& measurement, FileSource source, std::optional<double> share);

}  // namespace dlscale::bench
