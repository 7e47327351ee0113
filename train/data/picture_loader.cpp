#include "train/data/picture_loader.hpp"

#include <fmt/format.h>
#include <time.h>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "train/data/file.hpp"

namespace dlscale::train {
namespace {

using Clock = std::chrono::steady_clock;

/// CPU time of this thread, which does not depend on how many threads share the cores.
Seconds thread_time() {
  timespec now = {};
  EXPECT(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return Seconds(static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec));
}

[[noreturn]] void refuse_picture(const DataSet::Picture& picture, const std::string& why) {
  throw RemediableError(
      fmt::format("{} is truncated, damaged or no JPEG ({}). Restore the file; damaged pictures of "
                  "a set that dlscale made can be made again.",
                  picture.path.string(), why),
      {.kind = Remedy::Kind::make_data_set,
       .subject = picture.path.parent_path().parent_path().string()});
}

}  // namespace

LoadTimes PictureLoader::load(const DataSet::Picture& picture, ImageShape shape, std::uint64_t seed,
                              ImageRoom out) {
  LoadTimes times;
  times.started = Clock::now();
  read_file(picture.path, file_);
  times.read = Seconds(std::chrono::duration<double>(Clock::now() - times.started).count());
  if (file_.empty()) refuse_picture(picture, "the file is empty");

  const Seconds read_done = thread_time();
  Augmentation augmentation;
  try {
    const PictureSize size = reader_.open(file_);
    RandomStream random(seed);
    augmentation = draw_augmentation(size, random);
    const int eighths = decode_eighths(augmentation.crop, shape);
    reader_.decode(eighths, pixels_);
    const double scale = eighths / 8.0;
    Crop& crop = augmentation.crop;
    crop = {crop.left * scale, crop.top * scale, crop.width * scale, crop.height * scale};
  } catch (const JpegError& error) {
    refuse_picture(picture, error.what());
  }
  const Seconds decoded = thread_time();
  times.decode = decoded - read_done;
  augmenter_.run(pixels_, augmentation, shape, out);
  times.augment = thread_time() - decoded;
  times.ended = Clock::now();
  return times;
}

LoadTimes load_picture(const DataSet::Picture& picture, ImageShape shape, std::uint64_t seed,
                       ImageRoom out) {
  return PictureLoader().load(picture, shape, seed, out);
}

}  // namespace dlscale::train
