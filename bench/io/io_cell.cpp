#include "bench/io/io_cell.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "backend/comm/together.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/quiet/quiet_machine.hpp"
#include "core/base/error.hpp"
#include "core/system/environment.hpp"
#include "train/data/file.hpp"
#include "train/data/jpeg.hpp"
#include "train/data/picture_loader.hpp"

namespace dlscale::bench {
namespace {

using Clock = std::chrono::steady_clock;
using train::DataSet;
using train::LoadTimes;

/// Least share of bytes from storage for a measurement of storage.
constexpr double proven_share = 0.9;

/// Whether the first batch is bitwise equal to its pictures loaded one by one.
bool delivers_pictures(const IoCell& cell, const train::PipelineOptions& options) {
  train::DataPipeline pipeline(*cell.data, options);
  const train::Batch& batch = pipeline.next();
  const auto elements = static_cast<std::size_t>(cell.pipeline.shape.elements());
  std::vector<float> image(elements);
  for (std::size_t i = 0; i < batch.picks.size(); ++i) {
    const DataSet::Picture& picture = cell.data->pictures[batch.picks[i].picture];
    train::load_picture(picture, cell.pipeline.shape, batch.picks[i].seed, image);
    const auto delivered = std::get<std::span<const float>>(batch.images);
    if (!std::ranges::equal(image, delivered.subspan(i * elements, elements))) return false;
    if (batch.labels[i] != picture.label) return false;
  }
  return true;
}

bool all_ranks(backend::Communicator& communicator, bool mine) {
  double all = mine ? 1 : 0;
  communicator.all_reduce(std::span(&all, 1), backend::Reduction::min);
  return all == 1;
}

/// Loads as training does, after evicting the file from the page cache.
train::LoadFunction load_from_storage() {
  return [loader = std::make_shared<train::PictureLoader>()](const DataSet::Picture& picture,
                                                             ImageShape shape, std::uint64_t seed,
                                                             train::ImageRoom out) {
    evict(picture.path);
    return loader->load(picture, shape, seed, out);
  };
}

std::unique_ptr<train::DataPipeline> make_pipeline(const IoCell& cell,
                                                   const train::PipelineOptions& options) {
  return cell.source == FileSource::storage
             ? std::make_unique<train::DataPipeline>(*cell.data, options, load_from_storage)
             : std::make_unique<train::DataPipeline>(*cell.data, options);
}

/// Reads files into the page cache, as many as fit in half of the memory.
void read_all(const DataSet& data) {
  Bytes total;
  std::vector<std::uint8_t> bytes;
  for (const DataSet::Picture& picture : data.pictures) {
    total += Bytes(static_cast<double>(picture.bytes));
    if (total > physical_memory() / 2) return;
    const Residency found = residency(picture.path);
    if (found.cached < found.pages) train::read_file(picture.path, bytes);
  }
}

/// A pipeline in steady state, and its times for each picture.
class Drain {
 public:
  Drain(const IoCell& cell, const train::PipelineOptions& options)
      : cell_(&cell), pipeline_(make_pipeline(cell, options)) {
    // Batches that were prefetched earlier would look infinitely fast.
    for (int i = 0; i <= options.prefetch; ++i) pipeline_->next();
    last_ = Clock::now();
  }

  /// Time since the previous batch. Loaders continue while samples are exchanged, so the time
  /// within the call would miss a part of their work.
  Seconds next() {
    const train::Batch& batch = pipeline_->next();
    const Clock::time_point now = Clock::now();
    times_.insert(times_.end(), batch.times.begin(), batch.times.end());
    for (const train::Pick& pick : batch.picks) bytes_ += cell_->data->pictures[pick.picture].bytes;
    return Seconds(std::chrono::duration<double>(now - std::exchange(last_, now)).count());
  }

  [[nodiscard]] std::span<const LoadTimes> last(std::size_t pictures) const {
    return std::span(times_).last(pictures);
  }
  /// Bytes of the files in all batches that next() returned.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  const IoCell* cell_;
  std::unique_ptr<train::DataPipeline> pipeline_;
  std::vector<LoadTimes> times_;
  std::int64_t bytes_ = 0;
  Clock::time_point last_;
};

/// One of the times of each picture on all ranks.
Series gather_times(backend::Communicator& communicator, std::span<const LoadTimes> times,
                    Seconds LoadTimes::*part) {
  std::vector<double> mine;
  for (const LoadTimes& time : times) mine.push_back((time.*part).si());
  std::vector<double> all(mine.size() * communicator.size());
  communicator.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  std::vector<std::vector<double>> samples;
  for (auto first = all.begin(); first != all.end(); first += std::ssize(mine)) {
    samples.emplace_back(first, first + std::ssize(mine));
  }
  return make_series("s", std::move(samples));
}

double mean_bytes(const DataSet& data) {
  double sum = 0;
  for (const DataSet::Picture& picture : data.pictures) sum += static_cast<double>(picture.bytes);
  return sum / static_cast<double>(data.pictures.size());
}

/// The share of all ranks' bytes that storage delivered, if Linux reports it.
class StorageShare {
 public:
  explicit StorageShare(backend::Communicator& communicator) : communicator_(&communicator) {}

  std::optional<double> since_start(std::int64_t bytes_read) const {
    const std::optional<std::int64_t> now = storage_bytes_read();
    const bool known = now && start_;
    std::array<double, 3> sums{known ? 0.0 : 1.0, static_cast<double>(bytes_read),
                               known ? static_cast<double>(*now - *start_) : 0.0};
    communicator_->all_reduce(std::span<double>(sums), backend::Reduction::sum);
    if (sums[0] > 0 || sums[1] <= 0) return std::nullopt;
    return std::min(1.0, sums[2] / sums[1]);
  }

 private:
  backend::Communicator* communicator_;
  std::optional<std::int64_t> start_ = storage_bytes_read();
};

Measurement measure(const IoCell& cell, const train::PipelineOptions& options,
                    const Sampler& sampler) {
  backend::Communicator& communicator = sampler.communicator();
  std::optional<Drain> drain;
  together(communicator, [&] { drain.emplace(cell, options); });
  const StorageShare share(communicator);
  Measurement measurement = sampler.sample([&drain] { return drain->next(); });
  const auto time = measurement.series.find("time");
  if (time == measurement.series.end()) return measurement;  // interrupted in the warm-up
  const std::size_t batches = time->second.samples.front().size();
  const auto times = drain->last(batches * options.batch);
  measurement.series["read"] = gather_times(communicator, times, &LoadTimes::read);
  measurement.series["decode"] = gather_times(communicator, times, &LoadTimes::decode);
  measurement.series["augment"] = gather_times(communicator, times, &LoadTimes::augment);
  judge_source(measurement, cell.source, share.since_start(drain->bytes()));
  return measurement;
}

class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ >= 0) return;
    throw ConfigError(fmt::format("{} cannot be read: {}. Check the path and its permissions.",
                                  path.string(), std::generic_category().message(errno)));
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::size_t bytes() const {
    struct stat status = {};
    EXPECT(::fstat(descriptor_, &status) == 0);
    return static_cast<std::size_t>(status.st_size);
  }

 private:
  int descriptor_;
};

}  // namespace

void judge_source(Measurement& measurement, FileSource source, std::optional<double> share) {
  const std::string where =
      share ? fmt::format("{:.1f} % of the bytes came from storage", 100 * *share)
            : "Linux does not tell how many of the bytes came from storage (/proc/self/io)";
  if (source == FileSource::page_cache) {
    measurement.warnings.push_back(
        fmt::format("cached: files were read from the page cache ({}); \"read\" says nothing of "
                    "storage. Measure it with {} storage.",
                    where, option_name("source")));
  } else if (share && *share >= proven_share) {
    measurement.warnings.push_back(fmt::format("storage: {}.", where));
  } else {
    measurement.status = Status::unsupported;
    measurement.reason = fmt::format(
        "{}, though every file was dropped from the page cache before it was read", where);
    measurement.series.clear();
    measurement.warnings.clear();
  }
}

Measurement measure_io(const IoCell& cell, const Sampler& sampler) {
  backend::Communicator& communicator = sampler.communicator();
  train::PipelineOptions options = cell.pipeline;
  options.rank = communicator.rank();
  options.ranks = communicator.size();
  Measurement measurement;
  bool right = false;
  together(communicator, [&] {
    right = delivers_pictures(cell, options);
    if (cell.source == FileSource::page_cache) read_all(*cell.data);
  });
  if (all_ranks(communicator, right)) {
    measurement = measure(cell, options, sampler);
    measurement.max_relative_error = 0;  // compared bitwise
    add_host_warnings(measurement, options.threads, communicator);
  } else {
    measurement.status = Status::wrong;
    measurement.reason = "the input pipeline delivers other images than load_picture()";
  }
  measurement.work = Work{Flops(0), Bytes(options.batch * mean_bytes(*cell.data))};
  measurement.implementation = train::jpeg_library();
  return measurement;
}

Residency residency(const std::filesystem::path& path) {
  const OpenFile file(path);
  const std::size_t bytes = file.bytes();
  if (bytes == 0) return {};
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  void* view = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  EXPECT(view != MAP_FAILED);
  const int failed = ::mincore(view, bytes, pages.data());
  ::munmap(view, bytes);
  EXPECT(failed == 0);
  return {std::ssize(pages),
          std::ranges::count_if(pages, [](int bits) { return (bits & 1) != 0; })};
}

void evict(const std::filesystem::path& path) {
  const OpenFile file(path);
  ::fdatasync(file.descriptor());  // dirty pages cannot be dropped
  ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
}

std::optional<std::int64_t> storage_bytes_read(const std::filesystem::path& counters) {
  std::ifstream file(counters);
  std::string name;
  std::int64_t value = 0;
  while (file >> name >> value) {
    if (name == "read_bytes:") return value;
  }
  return std::nullopt;
}

}  // namespace dlscale::bench
