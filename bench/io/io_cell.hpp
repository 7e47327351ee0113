#pragma once
#include <memory>
#include <optional>

#include "bench/engine/benchmark.hpp"
#include "core/network/network.hpp"
#include "train/data/data.hpp"

namespace dlscale::bench {

/// Where the bytes of the pictures come from.
enum class FileSource {
  page_cache,  ///< every file was read shortly before: what training sees from the second epoch on
  storage,     ///< every file is dropped from the page cache before it is read
};

/// One cell of bench io.
struct IoCell {
  std::shared_ptr<const train::DataSet> data;
  train::PipelineOptions pipeline;  ///< rank and ranks are set from the communicator
  FileSource source = FileSource::page_cache;
};

/// Checks that the pipeline delivers what load_picture() does, then drains it as fast as it can:
/// series "time" from batch to batch, and "read", "decode" and "augment" of each of their pictures.
/// A warning says how many of the bytes came from storage, as Linux counts them. If they should
/// have, but did not or that cannot be told, the status is `unsupported` and there are no times.
Measurement measure_io(const IoCell& cell, const Sampler& sampler);

/// What measure_io() says when `share` of the bytes came from storage; nothing: not known.
void judge_source(Measurement& measurement, FileSource source, std::optional<double> share);

}  // namespace dlscale::bench
