#include "backend/host/quota.hpp"

#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace dlscale::backend {
namespace {

using std::filesystem::path;

/// Control group files in a folder of their own.
class Quota : public testing::Test {
 protected:
  Quota() : root_(path(testing::TempDir()) / ("dlscale_quota_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(root_);
  }
  ~Quota() override { std::filesystem::remove_all(root_); }
  Quota(const Quota&) = delete;
  Quota& operator=(const Quota&) = delete;

  void write(const path& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  [[nodiscard]] const path& root() const { return root_; }

 private:
  path root_;
};

TEST_F(Quota, IsNoneWithoutControlGroups) {
  EXPECT_FALSE(quota_of("0::/\n", root()).has_value());
  EXPECT_FALSE(quota_of("", root()).has_value());
  EXPECT_FALSE(quota_of("nonsense\n:\n", root()).has_value());
}

TEST_F(Quota, ReadsVersion2) {
  write("cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(quota_of("0::/\n", root()).value(), 1.5);
}

TEST_F(Quota, IsNoneWhereVersion2SaysMax) {
  write("cpu.max", "max 100000\n");
  EXPECT_FALSE(quota_of("0::/\n", root()).has_value());
}

TEST_F(Quota, IsTheTightestOfAllParents) {
  write("user/cpu.max", "100000 100000\n");
  write("user/job/cpu.max", "300000 100000\n");
  write("cpu.max", "800000 100000\n");
  EXPECT_DOUBLE_EQ(quota_of("0::/user/job\n", root()).value(), 1.0);
}

TEST_F(Quota, ReadsVersion1) {
  write("cpu,cpuacct/docker/a/cpu.cfs_quota_us", "50000\n");
  write("cpu,cpuacct/docker/a/cpu.cfs_period_us", "100000\n");
  const std::string groups = "5:cpuset:/\n4:cpu,cpuacct:/docker/a\n";
  EXPECT_DOUBLE_EQ(quota_of(groups, root()).value(), 0.5);
}

TEST_F(Quota, IsNoneWhereVersion1SaysMinusOne) {
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(quota_of("4:cpu:/\n", root()).has_value());
}

}  // namespace
}  // namespace dlscale::backend
