#pragma once
#include <cstdint>
#include <filesystem>
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

/// Number of a file's pages in the page cache, and of all its pages.
struct Residency {
  std::int64_t pages = 0;
  std::int64_t cached = 0;
};

/// Counts by mincore(2). Throws ConfigError naming the file if it cannot be opened.
Residency residency(const std::filesystem::path& path);

/// Asks Linux to write a file's pages to the device and drop them from the page cache. Linux may
/// ignore it: check residency() and storage_bytes_read().
void evict(const std::filesystem::path& path);

/// Bytes that storage devices have delivered to this process, from read_bytes of /proc/self/io;
/// empty if the system does not report it.
std::optional<std::int64_t> storage_bytes_read(
    const std::filesystem::path& counters = "/proc/self/io");

}  // namespace dlscale::bench
