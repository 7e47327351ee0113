#include "backend/host/caches.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "backend/host/host.hpp"

namespace dlscale::backend {
namespace {

/// A folder like /sys/devices/system/cpu.
class FakeProcessors : public testing::Test {
 protected:
  FakeProcessors()
      : root_(std::filesystem::path(testing::TempDir()) /
              ("dlscale_caches_" + std::to_string(getpid()))) {}
  FakeProcessors(const FakeProcessors&) = delete;
  FakeProcessors& operator=(const FakeProcessors&) = delete;
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
  add("index2", "2", "64M");
  EXPECT_EQ(last_level_cache_below(root_), 32_MiB);
}

TEST_F(FakeProcessors, SizeMayBeInMebibytes) {
  add("index0", "3", "36M");
  EXPECT_EQ(last_level_cache_below(root_), 36_MiB);
}

TEST_F(FakeProcessors, UnknownSizesAreNotGuessed) {
  EXPECT_EQ(last_level_cache_below(root_), Bytes(0));
  add("index0", "3", "much");
  add("index1", "x", "64K");
  EXPECT_EQ(last_level_cache_below(root_), Bytes(0));
}

TEST(LastLevelCache, IsKnownWhereLinuxTellsIt) {
  if (last_level_cache_below("/sys/devices/system/cpu") == Bytes(0)) {
    GTEST_SKIP() << "Linux does not tell the size of the last-level cache here";
  }
  EXPECT_GT(last_level_cache(), Bytes(0));
}

}  // namespace
}  // namespace dlscale::backend
