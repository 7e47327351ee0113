#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include "message.hpp"
#include "small_set.hpp"
#include "temporary_folder.hpp"
#include "train/data/data.hpp"

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
    suite_folder = new TemporaryFolder;
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
  static inline TemporaryFolder* suite_folder = nullptr;
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

}  // namespace
}  // namespace dlscale::train
