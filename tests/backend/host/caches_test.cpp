#include "backend/host/sysfs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "backend/host/host.hpp"
#include "backend/host/topology.hpp"

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
  void add(const std::string& index, const std::string& level, const std::string& size,
           const std::string& type = "Data") {
    const auto folder = root_ / "cpu0" / "cache" / index;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "level") << level << "\n";
    std::ofstream(folder / "size") << size << "\n";
    std::ofstream(folder / "type") << type << "\n";
    std::ofstream(folder / "coherency_line_size") << "64\n";
  }
  std::filesystem::path root_;
};

TEST_F(FakeProcessors, CachesOfDataAreToldNearestFirst) {
  add("index0", "1", "48K");
  add("index1", "1", "32K", "Instruction");
  add("index2", "3", "32768K", "Unified");
  add("index3", "2", "64M", "Unified");
  const std::vector<DataCache> caches = data_caches_below(root_);
  ASSERT_EQ(caches.size(), 3U);
  EXPECT_EQ(caches[0].size, 48_KiB);
  EXPECT_EQ(caches[1].size, 64_MiB);
  EXPECT_EQ(caches[2].size, 32_MiB);
  EXPECT_EQ(caches[2].level, 3);
  EXPECT_EQ(caches[2].line, Bytes(64));
}

TEST_F(FakeProcessors, SizeMayBeInMebibytes) {
  add("index0", "3", "36M");
  EXPECT_EQ(data_caches_below(root_).at(0).size, 36_MiB);
}

TEST_F(FakeProcessors, UnknownSizesAreNotGuessed) {
  EXPECT_TRUE(data_caches_below(root_).empty());
  add("index0", "3", "much");
  add("index1", "x", "64K");
  EXPECT_TRUE(data_caches_below(root_).empty());
}

TEST(LastLevelCache, IsKnownWhereLinuxTellsIt) {
  if (data_caches_below("/sys/devices/system/cpu").empty()) {
    GTEST_SKIP() << "Linux does not tell the size of the last-level cache here";
  }
  EXPECT_GT(last_level_cache(), Bytes(0));
}

TEST(DataCachesOfThisMachine, GrowTowardsMemory) {
  const DataCaches caches = data_caches();
  for (std::size_t i = 1; i < caches.levels.size(); ++i) {
    EXPECT_GT(caches.levels[i].level, caches.levels[i - 1].level);
  }
  EXPECT_FALSE(caches.source.empty());
}

}  // namespace
}  // namespace dlscale::backend
