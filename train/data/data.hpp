#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "train/data/images.hpp"

namespace dlscale::train {

/// A folder of JPEG pictures, one sub-folder per class, with manifest.json
/// (train/data/manifest.hpp).
struct DataSet {
  struct Picture {
    std::filesystem::path path;
    std::int32_t label;
    std::int64_t bytes;
  };
  std::filesystem::path root;
  std::vector<std::string> classes;
  std::vector<Picture> pictures;
};

struct DataSetSpec {
  int classes = 10;
  int pictures = 256;
  int width = 500;   ///< mean width, as in ImageNet
  int height = 375;  ///< mean height; single pictures differ from the mean, as in ImageNet
  double target_bytes = 110e3;  ///< mean file size, reached within 10 %
  std::uint64_t seed = 1;
};

/// Writes a data set whose classes differ in the orientation, frequency and colour of a pattern,
/// under noise. A network can learn it, and a picture costs as much to read and decode as one of
/// ImageNet. The same spec gives the same files. Resumes where it stopped; in a finished set with
/// the same spec it rewrites only missing and damaged pictures. Several processes may call it at
/// once. Throws ConfigError if the spec is impossible, or if the folder holds something else or
/// cannot be written; Interrupted on a signal.
DataSet make_data_set(const std::filesystem::path& root, const DataSetSpec& spec);

/// Throws ConfigError without a folder or a manifest; the message has the command that makes one.
/// It also does so for missing pictures, and for sizes that differ from the manifest's.
DataSet open_data_set(const std::filesystem::path& root);

/// Time that a loader thread spent on one picture. `read` is elapsed time, as it may wait for a
/// device; `decode` and `augment` are CPU time of the thread, independent of other load on the
/// core.
struct LoadTimes {
  Seconds read;     ///< reading the file from storage or the page cache
  Seconds decode;   ///< decoding JPEG to RGB
  Seconds augment;  ///< cropping, resizing, mirroring, and normalising or rounding
  std::chrono::steady_clock::time_point started;  ///< start and end of the span on a timeline
  std::chrono::steady_clock::time_point ended;
};

/// Reads a picture and writes it in the format of `out`: normalised f32 C × H × W of `shape`, which
/// has 3 channels, or H × W × C bytes. `seed` determines the random resized crop and the mirroring;
/// resizing is bilinear, with ImageNet's mean and deviation (see train/data/augment.hpp). Grey
/// pictures are expanded to three channels; CMYK is converted. Throws ConfigError naming the file
/// if it is missing, truncated, damaged or not a JPEG.
LoadTimes load_picture(const DataSet::Picture& picture, ImageShape shape, std::uint64_t seed,
                       ImageRoom out);

/// One image of a batch: its picture and the seed of its crop.
struct Pick {
  std::size_t picture = 0;  ///< index into DataSet::pictures
  std::uint64_t seed = 0;
  bool operator==(const Pick&) const = default;
};

/// A decoded mini-batch in host memory, with N labels.
struct Batch {
  Images images;
  std::span<const std::int32_t> labels;
  std::vector<LoadTimes> times;  ///< one per picture
  std::vector<Pick> picks;       ///< one per picture; load_picture() of it gives the same image
};

/// The endless sequence of pictures that all ranks together train on: one permutation of the data
/// set after another, each drawn from the seed and the number of its epoch.
class PictureSequence {
 public:
  /// Requires pictures ≥ 1.
  PictureSequence(std::size_t pictures, std::uint64_t seed);
  /// The picture and seed at `position`. Fast if the positions of one epoch are requested in a row.
  Pick at(std::uint64_t position);

 private:
  void shuffle(std::uint64_t epoch);

  std::uint64_t seed_;
  std::uint64_t epoch_ = 0;
  std::vector<std::size_t> order_;
};

struct PipelineOptions {
  ImageShape shape;
  int batch = 8;
  int threads = 1;
  int prefetch = 2;  ///< number of batches decoded ahead
  std::uint64_t seed = 1;
  int rank = 0;
  int ranks = 1;
  Normalisation normalisation = Normalisation::host;  ///< device: batches hold bytes
  /// Allocates memory for the decoded images, for example pinned memory, from which the device
  /// copies fastest. Empty: ordinary memory. The memory must be freed before the device is closed,
  /// so destroy the pipeline first.
  std::function<backend::Buffer(std::size_t bytes)> allocate = {};
};

/// Fills `out` as load_picture() does. Each loader thread has its own.
using LoadFunction = std::function<LoadTimes(const DataSet::Picture& picture, ImageShape shape,
                                             std::uint64_t seed, ImageRoom out)>;

/// Loader threads that keep up to `prefetch` batches ready. The sequence of batches depends only on
/// seed, rank and ranks, not on timing or threads. The union over ranks of iteration k is the batch
/// that one rank with batch · ranks would get. The order is the same: rank r has images [r·batch,
/// (r+1)·batch). Epochs follow each other without a gap, each a new permutation of all pictures. A
/// batch may thus hold the end of one epoch and the start of the next.
class DataPipeline {
 public:
  /// Throws ConfigError for a shape without 3 channels, and for batch, threads or prefetch < 1.
  DataPipeline(DataSet data, const PipelineOptions& options);
  /// Loads with the result of `make_loader`, called once per thread, instead of load_picture().
  DataPipeline(DataSet data, const PipelineOptions& options,
               const std::function<LoadFunction()>& make_loader);
  /// Waits for the pictures being loaded, one per thread.
  ~DataPipeline();
  DataPipeline(const DataPipeline&) = delete;
  DataPipeline& operator=(const DataPipeline&) = delete;
  /// Blocks until the next batch is ready; it stays valid until the next call. Rethrows the
  /// exception of a loader thread, on this and every later call.
  const Batch& next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlscale::train
