#include <fmt/format.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <numeric>
#include <thread>
#include <utility>

#include "core/base/error.hpp"
#include "train/data/data.hpp"
#include "train/data/picture_loader.hpp"
#include "train/data/random.hpp"

namespace dlscale::train {
namespace {

/// Allocates memory aligned to a cache line, the width of the widest vectors. It is not touched
/// before use, so first touch places it near the threads that fill it.
backend::Buffer allocate_untouched(std::size_t bytes) {
  constexpr std::size_t line = 64;
  auto* memory =
      static_cast<std::byte*>(std::aligned_alloc(line, (bytes + line - 1) / line * line));
  if (memory == nullptr) throw std::bad_alloc();
  return {memory, backend::FreeBuffer{[](std::byte* p) noexcept { std::free(p); }}};
}

/// Memory for a batch in its transfer format.
class ImageBuffer {
 public:
  explicit ImageBuffer(const PipelineOptions& options)
      : image_(static_cast<std::size_t>(options.shape.elements())),
        count_(image_ * static_cast<std::size_t>(options.batch)),
        normalisation_(options.normalisation) {
    const std::size_t bytes = image_bytes(count_, normalisation_);
    memory_ = options.allocate ? options.allocate(bytes) : allocate_untouched(bytes);
  }
  [[nodiscard]] Images all() const {
    const auto to_read = [](auto room) {
      return Images(std::span<const typename decltype(room)::element_type>(room));
    };
    return std::visit(to_read, part(0, count_));
  }
  [[nodiscard]] ImageRoom image(int index) const {
    return part(static_cast<std::size_t>(index) * image_, image_);
  }

 private:
  [[nodiscard]] ImageRoom part(std::size_t first, std::size_t count) const {
    if (normalisation_ == Normalisation::host) {
      return std::span(reinterpret_cast<float*>(memory_.get()), count_).subspan(first, count);
    }
    return std::span(reinterpret_cast<std::uint8_t*>(memory_.get()), count_).subspan(first, count);
  }

  std::size_t image_;
  std::size_t count_;
  Normalisation normalisation_;
  backend::Buffer memory_;
};

/// Memory of one batch and its fill state.
struct Slot {
  explicit Slot(const PipelineOptions& options) : images(options), labels(options.batch) {
    batch.images = images.all();
    batch.labels = labels;
    batch.times.resize(options.batch);
    batch.picks.resize(options.batch);
  }
  ImageBuffer images;
  std::vector<std::int32_t> labels;
  Batch batch;
  int loaded = 0;
  int failed_image = -1;  ///< first failed image of the batch, whichever thread failed first
  std::exception_ptr error;
};

void check_options(const PipelineOptions& options) {
  EXPECT(options.ranks >= 1 && options.rank >= 0 && options.rank < options.ranks);
  const auto check_positive = [](const char* name, int value) {
    if (value < 1) {
      throw ConfigError(
          fmt::format("The input pipeline's {} is {}. Choose 1 or more.", name, value));
    }
  };
  check_positive("batch", options.batch);
  check_positive("number of loader threads", options.threads);
  check_positive("prefetch", options.prefetch);
  const auto [channels, height, width] = options.shape;
  if (channels != 3 || height < 1 || width < 1) {
    throw ConfigError(fmt::format(
        "The network's input is {} x {} x {}, but pictures have 3 channels. Use a network whose "
        "input is 3 x height x width.",
        channels, height, width));
  }
}

LoadFunction make_picture_loader() {
  // Shared, because a std::function must be copyable.
  return [loader = std::make_shared<PictureLoader>()](
             const DataSet::Picture& picture, ImageShape shape, std::uint64_t seed, ImageRoom out) {
    return loader->load(picture, shape, seed, out);
  };
}

}  // namespace

PictureSequence::PictureSequence(std::size_t pictures, std::uint64_t seed)
    : seed_(seed), order_(pictures) {
  EXPECT(pictures >= 1);
  shuffle(0);
}

Pick PictureSequence::at(std::uint64_t position) {
  const std::uint64_t epoch = position / order_.size();
  if (epoch != epoch_) shuffle(epoch);
  return {order_[position % order_.size()], mix(seed_, 2 * position + 1)};
}

/// Shuffles by Fisher and Yates.
void PictureSequence::shuffle(std::uint64_t epoch) {
  epoch_ = epoch;
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  RandomStream random(mix(seed_, 2 * epoch));
  for (std::size_t n = order_.size(); n > 1; --n) {
    std::swap(order_[n - 1], order_[random.below(n)]);
  }
}

/// Threads take images one by one, in the order of the sequence; a batch is ready when all its
/// images are. Slots form a ring: batch k is in slot k % (prefetch + 1). The caller holds one slot.
struct DataPipeline::Impl {
  Impl(DataSet set, const PipelineOptions& opts)
      : data(std::move(set)), options(opts), sequence(data.pictures.size(), opts.seed) {
    for (int i = 0; i <= options.prefetch; ++i) slots.emplace_back(options);
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    may_load.notify_all();
    threads.clear();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  struct Image {
    Slot* slot;
    int index;
  };

  [[nodiscard]] Slot& slot(std::int64_t batch) {
    return slots[static_cast<std::size_t>(batch) % slots.size()];
  }
  [[nodiscard]] bool has_room() const {
    return next_image / options.batch < next_batch + options.prefetch;
  }

  /// Takes the next image to load and writes its pick to its batch. Call under the lock.
  Image take_image() {
    const std::int64_t batch = next_image / options.batch;
    const auto index = static_cast<int>(next_image++ % options.batch);
    Slot& target = slot(batch);
    if (index == 0) {
      target.loaded = 0;
      target.failed_image = -1;
      target.error = nullptr;
    }
    const std::int64_t first = (batch * options.ranks + options.rank) * options.batch;
    target.batch.picks[index] = sequence.at(static_cast<std::uint64_t>(first + index));
    return {&target, index};
  }

  void load(const LoadFunction& function, Image image) const {
    const Pick pick = image.slot->batch.picks[image.index];
    const DataSet::Picture& picture = data.pictures[pick.picture];
    image.slot->labels[image.index] = picture.label;
    image.slot->batch.times[image.index] =
        function(picture, options.shape, pick.seed, image.slot->images.image(image.index));
  }

  /// Marks an image as done or failed. Call under the lock.
  void finish(Image image, std::exception_ptr error) {
    Slot& target = *image.slot;
    if (error && (!target.error || image.index < target.failed_image)) {
      target.error = std::move(error);
      target.failed_image = image.index;
    }
    if (++target.loaded == options.batch) ready.notify_all();
  }

  void work(const std::function<LoadFunction()>& make_loader) {
    LoadFunction function;
    std::unique_lock lock(mutex);
    while (true) {
      may_load.wait(lock, [this] { return stopping || has_room(); });
      if (stopping) return;
      const Image image = take_image();
      lock.unlock();
      std::exception_ptr error;
      try {
        if (!function) function = make_loader();
        load(function, image);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      finish(image, std::move(error));
    }
  }

  const DataSet data;
  const PipelineOptions options;
  std::mutex
      /// Guards the members below; a slot's contents belong to the thread that loads or holds it.
      mutex;
  std::condition_variable may_load;
  std::condition_variable ready;
  PictureSequence sequence;
  std::deque<Slot> slots;
  std::int64_t next_image = 0;  ///< next image for a loader thread
  std::int64_t next_batch = 0;  ///< next batch for next()
  bool stopping = false;
  std::vector<std::jthread> threads;
};

DataPipeline::DataPipeline(DataSet data, const PipelineOptions& options)
    : DataPipeline(std::move(data), options, make_picture_loader) {}

DataPipeline::DataPipeline(DataSet data, const PipelineOptions& options,
                           const std::function<LoadFunction()>& make_loader) {
  check_options(options);
  impl_ = std::make_unique<Impl>(std::move(data), options);
  for (int i = 0; i < options.threads; ++i) {
    impl_->threads.emplace_back([impl = impl_.get(), make_loader] { impl->work(make_loader); });
  }
}

DataPipeline::~DataPipeline() = default;

const Batch& DataPipeline::next() {
  Impl& impl = *impl_;
  std::unique_lock lock(impl.mutex);
  Slot& slot = impl.slot(impl.next_batch);
  const auto is_ready = [&] {
    return impl.next_image >= (impl.next_batch + 1) * impl.options.batch &&
           slot.loaded == impl.options.batch;
  };
  impl.ready.wait(lock, is_ready);
  if (slot.error) std::rethrow_exception(slot.error);
  ++impl.next_batch;
  lock.unlock();
  impl.may_load.notify_all();
  return slot.batch;
}

}  // namespace dlscale::train
