#include "bench/cache.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/error.hpp"

namespace dlscale::bench {
namespace {

/// A folder like /sys/devices/system/cpu.
class FakeProcessors : public testing::Test {
 protected:
  FakeProcessors()
      : root_(std::filesystem::path(testing::TempDir()) /
              ("dlscale_caches_" + std::to_string(getpid()))) {}
  ~FakeProcessors() override { std::filesystem::remove_all(root_); }
  void add(const std::string& index, const std::string& level, const std::string& size) {
    const auto folder = root_ / "cpu0" / "cache" / index;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "level") << level << "\n";
    std::ofstream(folder / "size") << size << "\n";
  }
  std::filesystem::path root_;
};

TEST_F(FakeProcessors, LastLevelIsTheHighestNotTheLargestOrLast) {
  add("index0", "1", "48K");
  add("index1", "3", "32768K");
  add("index2", "2", "1M");
  EXPECT_EQ(last_level_cache(root_), 32_MiB);
}

TEST_F(FakeProcessors, SizeMayBeInMebibytes) {
  add("index0", "3", "36M");
  EXPECT_EQ(last_level_cache(root_), 36_MiB);
}

TEST_F(FakeProcessors, UnknownSizesAreNotGuessed) {
  EXPECT_EQ(last_level_cache(root_), std::nullopt);
  add("index0", "3", "much");
  add("index1", "x", "64K");
  EXPECT_EQ(last_level_cache(root_), std::nullopt);
}

TEST(CacheFlusher, ReadsTwiceTheLastLevelCache) {
  const CacheFlusher flusher(40_MiB);
  EXPECT_EQ(flusher.flush(), std::size_t{80} << 20U);
  EXPECT_EQ(flusher.bytes(), std::size_t{80} << 20U);
}

TEST(CacheFlusher, ReadsNoLessThan64MiB) {
  EXPECT_EQ(CacheFlusher(1_MiB).flush(), std::size_t{64} << 20U);
  EXPECT_EQ(CacheFlusher(std::nullopt).flush(), std::size_t{64} << 20U);
}

TEST(Touch, LeavesTheDataAsItIs) {
  std::vector<std::byte> data(1000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7 % 251);
  const std::vector<std::byte> before = data;
  touch(data);
  touch({});
  EXPECT_EQ(data, before);
}

TEST(CacheState, HasANameThatParsesBack) {
  for (const CacheState state : {CacheState::cold, CacheState::producer, CacheState::hot}) {
    EXPECT_EQ(parse_cache_state(cache_state_name(state)), state);
  }
  EXPECT_THROW(parse_cache_state("warm"), ConfigError);
}

}  // namespace
}  // namespace dlscale::bench
