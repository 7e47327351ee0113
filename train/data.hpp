#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/network.hpp"
#include "core/units.hpp"

namespace dlscale::train {

/// A folder of JPEG pictures, one sub-folder a class, with manifest.json.
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
  int width = 500;  ///< the mean size of ImageNet pictures
  int height = 375;
  double target_bytes = 110e3;  ///< mean file size; reached within 10 %
  std::uint64_t seed = 1;
};

/// Writes a data set whose classes differ in orientation, frequency and colour of a pattern, under
/// noise: a network can learn it, and a picture costs what an ImageNet picture costs to read and
/// decode. Resumes where it stopped; a finished set with the same spec is left alone. Throws
/// ConfigError if the folder holds another set or cannot be written.
DataSet make_data_set(const std::filesystem::path& root, const DataSetSpec& spec);

/// Throws ConfigError: no folder, no manifest (with the command that makes one), missing pictures.
DataSet open_data_set(const std::filesystem::path& root);

/// Time a loader thread spent on one picture.
struct LoadTimes {
  Seconds read;
  Seconds decode;   ///< JPEG to RGB
  Seconds augment;  ///< crop, resize, mirror, normalise
};

/// Reads a picture and writes it as normalised f32 C × H × W of `shape` (random resized crop and
/// mirror drawn from `seed`). Throws ConfigError naming the file if it is missing, truncated or no
/// JPEG.
LoadTimes load_picture(const DataSet::Picture& picture, ImageShape shape, std::uint64_t seed,
                       std::span<float> out);

/// A decoded mini-batch in host memory: N × C × H × W f32 and N labels.
struct Batch {
  std::span<const float> images;
  std::span<const std::int32_t> labels;
  std::vector<LoadTimes> times;  ///< one per picture
};

struct PipelineOptions {
  ImageShape shape;
  int batch = 8;
  int threads = 1;
  int prefetch = 2;  ///< batches decoded ahead
  std::uint64_t seed = 1;
  int rank = 0;  ///< takes pictures rank, rank + ranks, … of each epoch's permutation
  int ranks = 1;
};

/// Loader threads that keep up to `prefetch` batches ready. The sequence of batches depends on
/// seed, rank and ranks only, not on timing: the union over ranks of iteration k is the batch that
/// one rank with batch · ranks would get, in the same order (rank r has images [r·batch,
/// (r+1)·batch)).
class DataPipeline {
 public:
  DataPipeline(DataSet data, const PipelineOptions& options);
  ~DataPipeline();
  DataPipeline(const DataPipeline&) = delete;
  DataPipeline& operator=(const DataPipeline&) = delete;
  /// Blocks until the next batch is ready; it stays valid until the next call. Rethrows what a
  /// loader thread met.
  const Batch& next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlscale::train
