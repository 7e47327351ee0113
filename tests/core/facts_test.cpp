#include "core/system/facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/core/support.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A tree that looks like / where a test has written something, and an environment.
class FactsOfATree : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const fs::path path = root_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] Facts facts() const {
    return capture_facts(root_.path(), [this](const char* name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    });
  }
  [[nodiscard]] std::string fact(const std::string& name) const { return facts().at(name); }
  std::map<std::string, std::string> variables_;

 private:
  test::TemporaryFolder root_;
};

TEST_F(FactsOfATree, SayWhyTheyAreUnavailableWhereThereIsNothing) {
  for (const auto& [name, value] : facts()) {
    if (name == "local_changes" || name == "random_addresses") continue;
    EXPECT_THAT(value, StartsWith("unavailable: ")) << name;
    EXPECT_GT(value.size(), std::string("unavailable: ").size()) << name;
  }
}

TEST_F(FactsOfATree, ReadWhatLinuxTells) {
  write("proc/stat", "cpu  1 2 3\nbtime 1700000000\nprocesses 12\n");
  write("proc/loadavg", "0.10 0.20 0.30 3/345 678\n");
  write("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2450.123\n\ncpu MHz\t\t: 3500.9\n");
  write("sys/devices/system/cpu/cpufreq/boost", "1\n");
  write("sys/devices/system/cpu/smt/control", "on\n");
  write("sys/devices/system/node/online", "0-1\n");
  EXPECT_EQ(fact("boot_time"), "2023-11-14T22:13:20Z");
  EXPECT_EQ(fact("runnable_threads"), "3");
  EXPECT_EQ(fact("clocks"), "2450 to 3501 MHz");
  EXPECT_EQ(fact("turbo"), "on");
  EXPECT_EQ(fact("smt"), "on");
  EXPECT_EQ(fact("numa_nodes"), "0-1");
  write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  EXPECT_EQ(fact("turbo"), "off") << "Intel's driver knows better than the common one";
}

TEST_F(FactsOfATree, RefuseATimeOfStartThatIsNone) {
  for (const std::string word : {"", "x", "-5", "99999999999999999999", "12x", "999999999999999"}) {
    write("proc/stat", "btime " + word + "\n");
    EXPECT_THAT(fact("boot_time"), StartsWith("unavailable: ")) << word;
  }
}

TEST_F(FactsOfATree, NameLinksThatAreUp) {
  write("sys/class/net/lo/operstate", "up\n");
  write("sys/class/net/eth0/operstate", "up\n");
  write("sys/class/net/eth0/speed", "10000\n");
  write("sys/class/net/eth1/operstate", "down\n");
  write("sys/class/net/virt/operstate", "up\n");
  write("sys/class/net/virt/speed", "-1\n");
  write("sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n");
  EXPECT_EQ(fact("links"), "eth0 10000 Mb/s, virt of unknown speed, mlx5_0/1 200 Gb/sec (4X HDR)");
}

TEST_F(FactsOfATree, NameTheJobAndItsNodes) {
  variables_ = {{"SLURM_JOB_ID", "42"}, {"SLURM_JOB_NODELIST", "node[1-3]"}, {"TOKEN", "hunter2"}};
  const Facts found = facts();
  EXPECT_EQ(found.at("scheduler"), "Slurm");
  EXPECT_EQ(found.at("scheduler_job"), "42");
  EXPECT_EQ(found.at("scheduler_nodes"), "node[1-3]");
  for (const auto& [name, value] : found) EXPECT_EQ(value.find("hunter2"), std::string::npos);
}

TEST_F(FactsOfATree, NameTheContainer) {
  write(".dockerenv", "");
  EXPECT_THAT(fact("container"), StartsWith("Docker"));
  write("run/.containerenv", "engine=\"podman-4\"\nimageid=sha256:abc\n");
  EXPECT_EQ(fact("container"), "Podman sha256:abc");
  variables_ = {{"APPTAINER_CONTAINER", "/images/a.sif"}};
  EXPECT_EQ(fact("container"), "Apptainer /images/a.sif");
}

TEST(Facts, OfThisMachineNameWhenItWasStarted) {
  const Facts here = capture_facts();
  EXPECT_THAT(here.at("boot_time"), HasSubstr("T"));
  EXPECT_GE(std::stoi(here.at("runnable_threads")), 1);
}

}  // namespace
}  // namespace dlscale
