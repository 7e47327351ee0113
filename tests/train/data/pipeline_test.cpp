#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <set>

#include "message.hpp"
#include "small_set.hpp"
#include "tests/core/support.hpp"
#include "train/data/data.hpp"
#include "train/data/random.hpp"

namespace dlscale::train {
namespace {

constexpr ImageShape piped_shape{3, 12, 16};

struct Content {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  bool operator==(const Content&) const = default;
};

std::span<const float> floats_of(const Batch& batch) {
  return std::get<std::span<const float>>(batch.images);
}

Content copy(const Batch& batch) {
  const auto images = floats_of(batch);
  return {{images.begin(), images.end()}, {batch.labels.begin(), batch.labels.end()}};
}

void append(Content& all, const Content& part) {
  all.images.insert(all.images.end(), part.images.begin(), part.images.end());
  all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
}

/// `n` pictures that are nowhere: for pipelines with a loader of the test's own.
DataSet imaginary_set(int n) {
  DataSet data{"", {"a"}, {}};
  for (int i = 0; i < n; ++i) data.pictures.push_back({std::to_string(i), 0, 1});
  return data;
}

class Pipeline : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    suite_folder = new test::TemporaryFolder;
    suite_data = new DataSet(make_data_set(*suite_folder / "set", small_spec()));
  }
  static void TearDownTestSuite() {
    delete suite_data;
    delete suite_folder;
  }
  static std::vector<Content> take(const PipelineOptions& options, int batches) {
    DataPipeline pipeline(*suite_data, options);
    std::vector<Content> contents;
    contents.reserve(static_cast<std::size_t>(batches));
    for (int i = 0; i < batches; ++i) contents.push_back(copy(pipeline.next()));
    return contents;
  }
  static inline test::TemporaryFolder* suite_folder = nullptr;
  static inline DataSet* suite_data = nullptr;
};

TEST_F(Pipeline, DoesNotDependOnThreadsOrPrefetch) {
  const auto alone = take({.shape = piped_shape, .batch = 5, .threads = 1, .prefetch = 1}, 8);
  for (const int threads : {2, 5}) {
    for (const int prefetch : {1, 2, 4}) {
      EXPECT_EQ(
          take({.shape = piped_shape, .batch = 5, .threads = threads, .prefetch = prefetch}, 8),
          alone);
    }
  }
  EXPECT_NE(take({.shape = piped_shape, .batch = 5, .seed = 2}, 8), alone);
}

// 14 pictures and 6 per iteration: batches run across the ends of epochs.
TEST_F(Pipeline, GivesAllRanksTogetherTheBatchOfOne) {
  const auto whole = take({.shape = piped_shape, .batch = 6}, 7);
  for (const int ranks : {2, 3}) {
    std::vector<Content> together(7);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto parts = take(
          {.shape = piped_shape, .batch = 6 / ranks, .threads = 2, .rank = rank, .ranks = ranks},
          7);
      for (std::size_t i = 0; i < parts.size(); ++i) append(together[i], parts[i]);
    }
    EXPECT_EQ(together, whole) << ranks << " ranks";
  }
}

TEST_F(Pipeline, ShowsEveryPictureOncePerEpoch) {
  DataPipeline pipeline(*suite_data, {.shape = piped_shape, .batch = 7, .threads = 2});
  std::map<std::size_t, int> seen;
  for (int i = 0; i < 6; ++i) {
    for (const Pick& pick : pipeline.next().picks) ++seen[pick.picture];
  }
  EXPECT_EQ(seen.size(), 14U);
  for (const auto& [picture, count] : seen) EXPECT_EQ(count, 3) << picture;
}

TEST_F(Pipeline, HandsOutWhatLoadPictureGives) {
  DataPipeline pipeline(*suite_data, {.shape = piped_shape, .batch = 4, .threads = 3});
  std::vector<float> image(piped_shape.elements());
  for (int i = 0; i < 3; ++i) {
    const Batch& batch = pipeline.next();
    for (std::size_t j = 0; j < batch.picks.size(); ++j) {
      const DataSet::Picture& picture = suite_data->pictures[batch.picks[j].picture];
      load_picture(picture, piped_shape, batch.picks[j].seed, image);
      EXPECT_TRUE(
          std::ranges::equal(image, floats_of(batch).subspan(j * image.size(), image.size())));
      EXPECT_EQ(batch.labels[j], picture.label);
      EXPECT_GT(batch.times[j].decode, Seconds(0));
    }
  }
}

TEST_F(Pipeline, HandsOutBytesForADeviceThatNormalises) {
  std::size_t allocated = 0;
  const auto allocate = [&](std::size_t bytes) {
    allocated += bytes;
    return backend::Buffer(new std::byte[bytes],
                           backend::FreeBuffer{[](std::byte* p) noexcept { delete[] p; }});
  };
  DataPipeline pipeline(*suite_data, {.shape = piped_shape,
                                      .batch = 4,
                                      .threads = 3,
                                      .prefetch = 2,
                                      .normalisation = Normalisation::device,
                                      .allocate = allocate});
  const auto image_size = static_cast<std::size_t>(piped_shape.elements());
  EXPECT_EQ(allocated, 3 * 4 * image_size);
  std::vector<std::uint8_t> image(image_size);
  for (int i = 0; i < 5; ++i) {
    const Batch& batch = pipeline.next();
    const auto bytes = std::get<std::span<const std::uint8_t>>(batch.images);
    ASSERT_EQ(bytes.size(), 4 * image_size);
    for (std::size_t j = 0; j < batch.picks.size(); ++j) {
      const DataSet::Picture& picture = suite_data->pictures[batch.picks[j].picture];
      load_picture(picture, piped_shape, batch.picks[j].seed, image);
      EXPECT_TRUE(std::ranges::equal(image, bytes.subspan(j * image_size, image_size)));
    }
  }
}

TEST_F(Pipeline, AlignsBatchesForVectors) {
  DataPipeline pipeline(*suite_data, {.shape = piped_shape, .batch = 3});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(floats_of(pipeline.next()).data()) % 64, 0U);
  }
}

TEST_F(Pipeline, TakesABatchLargerThanTheDataSet) {
  EXPECT_EQ(take({.shape = piped_shape, .batch = 40, .threads = 2}, 1).front().labels.size(), 40U);
}

TEST_F(Pipeline, RefusesOptionsThatCannotWork) {
  const auto refusal = [&](const PipelineOptions& options) {
    return config_error([&] { DataPipeline(*suite_data, options); });
  };
  EXPECT_TRUE(contains(refusal({.shape = piped_shape, .batch = 0}), "batch is 0"));
  EXPECT_TRUE(contains(refusal({.shape = piped_shape, .threads = -1}), "threads is -1"));
  EXPECT_TRUE(contains(refusal({.shape = piped_shape, .prefetch = 0}), "prefetch is 0"));
  EXPECT_TRUE(contains(refusal({.shape = {1, 28, 28}}), "1 x 28 x 28"));
  EXPECT_THROW(DataPipeline(*suite_data, {.shape = piped_shape, .rank = 2, .ranks = 2}),
               std::logic_error);
  EXPECT_THROW(DataPipeline(imaginary_set(0), {.shape = piped_shape}), std::logic_error);
}

TEST_F(Pipeline, ThrowsTheErrorOfTheBatchItBelongsTo) {
  DataSet data = *suite_data;
  data.pictures[5].path = *suite_folder / "missing.jpg";
  DataPipeline pipeline(data, {.shape = piped_shape, .batch = 1, .threads = 3, .prefetch = 3});
  DataPipeline intact(*suite_data, {.shape = piped_shape, .batch = 1});
  while (intact.next().picks.front().picture != 5) pipeline.next();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(contains(config_error([&] { pipeline.next(); }), "missing.jpg"));
  }
}

TEST_F(Pipeline, ThrowsTheFirstErrorOfABatchWhicheverThreadIsFaster) {
  const auto throw_name = [](const DataSet::Picture& picture, ImageShape, std::uint64_t,
                             ImageRoom) -> LoadTimes { throw ConfigError(picture.path.string()); };
  const PipelineOptions options{.shape = piped_shape, .batch = 8, .threads = 4};
  std::string first;
  for (int i = 0; i < 20; ++i) {
    DataPipeline pipeline(imaginary_set(50), options, [&] { return throw_name; });
    const std::string message = config_error([&] { pipeline.next(); });
    if (first.empty()) first = message;
    EXPECT_EQ(message, first);
  }
}

TEST_F(Pipeline, ThrowsWhatMakingALoaderThrows) {
  DataPipeline pipeline(imaginary_set(5), {.shape = piped_shape, .threads = 2},
                        []() -> LoadFunction { throw ConfigError("no loader"); });
  EXPECT_EQ(config_error([&] { pipeline.next(); }), "no loader");
}

/// Counts the pictures that loading has begun for, and lets the test wait for a number.
class Counter {
 public:
  LoadFunction function() {
    return [this](const DataSet::Picture&, ImageShape, std::uint64_t, ImageRoom out) {
      std::ranges::fill(std::get<std::span<float>>(out), 0.0F);
      const std::lock_guard lock(mutex_);
      ++count_;
      changed_.notify_all();
      return LoadTimes{};
    };
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

// wait_for() shows that it works ahead as far as it may, count() that it goes no further.
TEST_F(Pipeline, StaysPrefetchBatchesAheadAndNoMore) {
  for (const int prefetch : {1, 3}) {
    Counter counter;
    const PipelineOptions options{
        .shape = piped_shape, .batch = 4, .threads = 3, .prefetch = prefetch};
    DataPipeline pipeline(imaginary_set(10), options, [&] { return counter.function(); });
    counter.wait_for(4 * prefetch);
    EXPECT_EQ(counter.count(), 4 * prefetch);
    for (int taken = 1; taken < 10; ++taken) {
      EXPECT_LE(counter.count(), 4 * (taken - 1 + prefetch));
      pipeline.next();
      counter.wait_for(4 * (taken + prefetch));
      EXPECT_EQ(counter.count(), 4 * (taken + prefetch));
    }
  }
}

TEST_F(Pipeline, EndsWhereverItsThreadsAre) {
  for (int i = 0; i < 30; ++i) {
    DataPipeline pipeline(*suite_data, {.shape = piped_shape, .batch = 2, .threads = 1 + i % 4});
    for (int taken = 0; taken < i % 3; ++taken) pipeline.next();
  }
}

// Of the authors' reference implementation for seed 1234567.
TEST(RandomStream, IsSplitMix64) {
  RandomStream random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(RandomStream, DrawsEveryNumberBelowItsLimitEquallyOften) {
  RandomStream random(5);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts.at(random.below(7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);  // five standard deviations
}

std::vector<std::size_t> epoch(PictureSequence& sequence, std::uint64_t number, std::size_t n) {
  std::vector<std::size_t> pictures;
  for (std::size_t i = 0; i < n; ++i) pictures.push_back(sequence.at(number * n + i).picture);
  return pictures;
}

TEST(PictureSequence, ShowsEveryPictureOncePerEpoch) {
  PictureSequence sequence(37, 1);
  for (std::uint64_t e = 0; e < 4; ++e) {
    std::vector<std::size_t> pictures = epoch(sequence, e, 37);
    std::ranges::sort(pictures);
    for (std::size_t i = 0; i < pictures.size(); ++i) EXPECT_EQ(pictures[i], i);
  }
}

TEST(PictureSequence, ShufflesAnewEachEpochAndForEachSeed) {
  PictureSequence one(37, 1);
  PictureSequence other(37, 2);
  const auto first = epoch(one, 0, 37);
  EXPECT_NE(first, epoch(one, 1, 37));
  EXPECT_NE(first, epoch(other, 0, 37));
  EXPECT_EQ(first, epoch(one, 0, 37));
}

TEST(PictureSequence, GivesEveryPositionItsOwnCropSeed) {
  PictureSequence sequence(5, 1);
  std::set<std::uint64_t> seeds;
  for (std::uint64_t i = 0; i < 100; ++i) seeds.insert(sequence.at(i).seed);
  EXPECT_EQ(seeds.size(), 100U);
}

TEST(PictureSequence, PutsEveryPictureInEveryPlaceEquallyOften) {
  PictureSequence sequence(4, 9);
  int firsts = 0;
  for (std::uint64_t e = 0; e < 4000; ++e) firsts += sequence.at(4 * e).picture == 2 ? 1 : 0;
  EXPECT_NEAR(firsts, 1000, 140);  // five standard deviations
}

constexpr ImageShape learnable_shape{3, 8, 8};

std::vector<float> thumbnail(const DataSet::Picture& picture, std::uint64_t seed) {
  std::vector<float> out(learnable_shape.elements());
  load_picture(picture, learnable_shape, seed, out);
  return out;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/// The mean thumbnail of each class, of the first half of the pictures.
std::vector<std::vector<float>> centroids(const DataSet& data) {
  std::vector<std::vector<float>> means(data.classes.size(),
                                        std::vector<float>(learnable_shape.elements()));
  std::vector<float> counts(data.classes.size());
  for (std::size_t i = 0; i < data.pictures.size() / 2; ++i) {
    const auto label = data.pictures[i].label;
    const auto image = thumbnail(data.pictures[i], i);
    for (std::size_t j = 0; j < image.size(); ++j) means[label][j] += image[j];
    ++counts[label];
  }
  for (std::size_t c = 0; c < means.size(); ++c) {
    for (float& value : means[c]) value /= counts[c];
  }
  return means;
}

std::int32_t nearest(const std::vector<std::vector<float>>& means,
                     const std::vector<float>& image) {
  std::int32_t best = 0;
  for (std::size_t c = 1; c < means.size(); ++c) {
    if (distance(means[c], image) < distance(means[best], image)) {
      best = static_cast<std::int32_t>(c);
    }
  }
  return best;
}

// A network must be able to learn the classes from random crops; chance is one in ten.
TEST(DataSet, CanBeLearntByTheSimplestOfClassifiers) {
  const test::TemporaryFolder folder;
  const DataSet data = make_data_set(folder / "set", {.classes = 10,
                                                      .pictures = 160,
                                                      .width = 120,
                                                      .height = 90,
                                                      .target_bytes = 7000,
                                                      .seed = 2});
  const auto means = centroids(data);
  int right = 0;
  const std::size_t half = data.pictures.size() / 2;
  for (std::size_t i = half; i < data.pictures.size(); ++i) {
    right += nearest(means, thumbnail(data.pictures[i], i)) == data.pictures[i].label ? 1 : 0;
  }
  EXPECT_GT(right, half / 2);
}

}  // namespace
}  // namespace dlscale::train
