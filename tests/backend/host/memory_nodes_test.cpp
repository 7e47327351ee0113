#include "backend/host/sysfs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace dlscale::backend {
namespace {

/// A folder like /sys/devices/system/node.
class FakeNodes : public testing::Test {
 protected:
  FakeNodes()
      : root_(std::filesystem::path(testing::TempDir()) /
              ("dlscale_nodes_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(root_);
  }
  FakeNodes(const FakeNodes&) = delete;
  FakeNodes& operator=(const FakeNodes&) = delete;
  ~FakeNodes() override { std::filesystem::remove_all(root_); }
  void add(const std::string& folder, const std::string& cpulist) {
    std::filesystem::create_directories(root_ / folder);
    std::ofstream(root_ / folder / "cpulist") << cpulist << "\n";
  }
  std::filesystem::path root_;
};

TEST_F(FakeNodes, HaveTheThreadsThatTheirListsName) {
  add("node0", "0-1,4");
  add("node1", "2-3,5");
  add("power", "6");  // no node
  EXPECT_EQ(memory_nodes_below(root_),
            (std::map<int, int>{{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 0}, {5, 1}}));
}

TEST_F(FakeNodes, MayHaveNoThreads) {
  add("node0", "0");
  add("node2", "");  // memory alone
  EXPECT_EQ(memory_nodes_below(root_), (std::map<int, int>{{0, 0}}));
}

TEST_F(FakeNodes, AreNotGuessed) {
  EXPECT_TRUE(memory_nodes_below(root_ / "none").empty());
  add("node0", "all");
  EXPECT_TRUE(memory_nodes_below(root_).empty());
}

}  // namespace
}  // namespace dlscale::backend
