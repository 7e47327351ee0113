#include "bench/workbench/finding.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace dlscale::bench {
namespace {

namespace fs = std::filesystem;

class FreeMemory : public testing::Test {
 protected:
  FreeMemory() { fs::remove_all(root_); }
  FreeMemory(const FreeMemory&) = delete;
  FreeMemory& operator=(const FreeMemory&) = delete;
  ~FreeMemory() override { fs::remove_all(root_); }
  void put(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  [[nodiscard]] std::optional<Bytes> look() const { return free_memory(root_); }

 private:
  fs::path root_ = fs::path(testing::TempDir()) / "dlscale_free_memory_test";
};

TEST_F(FreeMemory, IsWhatTheKernelCallsAvailable) {
  put("proc/meminfo", "MemTotal:  2000 kB\nMemFree:  10 kB\nMemAvailable:    1000 kB\n");
  EXPECT_EQ(look(), Bytes(1000 * 1024));
}

TEST_F(FreeMemory, IsNoMoreThanAControlGroupLeaves) {
  put("proc/meminfo", "MemAvailable:    1000 kB\n");
  put("sys/fs/cgroup/memory.max", "500000\n");
  put("sys/fs/cgroup/memory.current", "300000\n");
  EXPECT_EQ(look(), Bytes(200000));
  put("sys/fs/cgroup/memory.stat", "anon 1\ninactive_file 100000\n");
  EXPECT_EQ(look(), Bytes(300000));
}

TEST_F(FreeMemory, IgnoresAControlGroupWithoutLimit) {
  put("proc/meminfo", "MemAvailable:    1000 kB\n");
  put("sys/fs/cgroup/memory.max", "max\n");
  put("sys/fs/cgroup/memory.current", "300000\n");
  EXPECT_EQ(look(), Bytes(1000 * 1024));
}

TEST_F(FreeMemory, IsNotGuessedWhereTheSystemDoesNotSay) {
  EXPECT_EQ(look(), std::nullopt);
}

}  // namespace
}  // namespace dlscale::bench
