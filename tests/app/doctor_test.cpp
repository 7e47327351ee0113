#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/doctor/doctor.hpp"
#include "backend/host/quota.hpp"
#include "core/base/units.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A tree like / of a quiet machine.
class DoctoredMachine : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
    write("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance");
    write("proc/loadavg", "0.05 0.10 0.12 1/200 4321");
    write("proc/meminfo", "MemTotal: 16000000 kB\nMemFree: 1000 kB\nMemAvailable: 12000000 kB");
    write("proc/self/cgroup", "0::/job");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }

  FindingGroup look() {
    return check_machine(root_, 4, [this] {
      work_ = -work_;  // each second time of fixed work is longer
      return Seconds(work_ > 0 ? 1e-3 : 1e-3 * slow_);
    });
  }

  Finding finding(const std::string& name) {
    for (const Finding& one : look().findings) {
      if (one.name == name) return one;
    }
    ADD_FAILURE() << "no finding is called " << name;
    return {};
  }

  void expect(FindingState state, const std::string& name, const std::string& found,
              const std::string& advice) {
    const Finding one = finding(name);
    EXPECT_EQ(one.state, state) << name;
    EXPECT_THAT(one.found, HasSubstr(found));
    EXPECT_THAT(one.advice, HasSubstr(advice));
    EXPECT_EQ(look().verdict(), state);
  }

  fs::path root_ = fs::temp_directory_path() / "dlscale-doctored-machine";
  double slow_ = 1.01;
  int work_ = 1;
};

TEST_F(DoctoredMachine, PassesWhereNothingDisturbs) {
  EXPECT_EQ(look().verdict(), FindingState::ok);
  for (const Finding& one : look().findings) {
    EXPECT_EQ(one.state, FindingState::ok) << one.name << ": " << one.found;
    EXPECT_EQ(one.advice, "") << one.name;
  }
}

TEST_F(DoctoredMachine, WarnsOfClocksThatChange) {
  write("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave");
  expect(FindingState::warning, "governor", "performance, powersave", "cpupower");
}

TEST_F(DoctoredMachine, WarnsOfOtherLoad) {
  write("proc/loadavg", "2.50 1.10 0.12 4/200 4321");
  expect(FindingState::warning, "load", "2.50", "--wait-quiet");
}

TEST_F(DoctoredMachine, WarnsOfACoreWhoseSpeedChanges) {
  slow_ = 1.2;
  expect(FindingState::warning, "speed", "20.0 %", "--wait-quiet");
}

TEST_F(DoctoredMachine, WarnsOfShortMemory) {
  write("proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 900000 kB");
  expect(FindingState::warning, "memory", "0.9 of 16.4 GB", "batch");
}

TEST_F(DoctoredMachine, WarnsOfALimitOfCores) {
  write("sys/fs/cgroup/job/cpu.max", "150000 100000");
  expect(FindingState::warning, "cores", "limited to 1.5", "--workers");
}

TEST_F(DoctoredMachine, WarnsOfALimitOfMemory) {
  write("sys/fs/cgroup/job/memory.max", "4000000000");
  expect(FindingState::warning, "memory", "limited to 4.0 GB", "MemoryMax");
}

TEST_F(DoctoredMachine, LacksADriverWhereThereIsAGpu) {
  write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de");
  write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200");
  expect(FindingState::missing, "GPUs", "1 GPU", "--gpus");
  write("proc/driver/nvidia/version", "NVRM version: 550");
  EXPECT_EQ(finding("GPUs").state, FindingState::ok);
}

TEST_F(DoctoredMachine, HasNoVerdictOnWhatItCannotRead) {
  fs::remove_all(root_);
  EXPECT_EQ(look().verdict(), FindingState::unavailable);
  for (const char* name : {"governor", "load", "memory"}) {
    EXPECT_EQ(finding(name).state, FindingState::unavailable) << name;
    EXPECT_NE(finding(name).found, "") << name;
    EXPECT_EQ(finding(name).advice, "") << name;
  }
}

TEST(SharedMemory, IsMissingOrSmallOrFull) {
  EXPECT_EQ(shared_memory({0, 0, 0}).state, FindingState::missing);
  EXPECT_EQ(shared_memory({64U << 20U, 6U << 20U, 6U << 20U}).state, FindingState::warning);
  EXPECT_EQ(shared_memory({8U << 28U, 1U << 20U, 1U << 20U}).state, FindingState::warning);
  EXPECT_EQ(shared_memory({8U << 28U, 8U << 28U, 8U << 28U}).state, FindingState::ok);
}

TEST_F(DoctoredMachine, HasGpusByTheirPciClass) {
  EXPECT_EQ(nvidia_gpus(root_), 0);
  write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de");
  write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200");
  write("sys/bus/pci/devices/0000:02:00.0/vendor", "0x10de");  // its sound, say
  write("sys/bus/pci/devices/0000:02:00.0/class", "0x040300");
  EXPECT_EQ(nvidia_gpus(root_), 1);
}

TEST_F(DoctoredMachine, HasTheTightestLimitOfMemoryOnTheWayUp) {
  const fs::path groups = root_ / "sys/fs/cgroup";
  write("sys/fs/cgroup/a/memory.max", "2000");
  write("sys/fs/cgroup/a/b/memory.max", "max");
  EXPECT_DOUBLE_EQ(backend::memory_limit_of("0::/a/b\n", groups).value_or(0), 2000);
  EXPECT_DOUBLE_EQ(backend::memory_limit_of("0::/elsewhere\n", groups).value_or(0), 0);
  write("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "3000");
  EXPECT_DOUBLE_EQ(backend::memory_limit_of("9:memory:/docker\n0::/a\n", groups).value_or(0), 2000);
  EXPECT_DOUBLE_EQ(backend::memory_limit_of("9:memory:/docker\n", groups).value_or(0), 3000);
  EXPECT_DOUBLE_EQ(backend::memory_limit_of("no colon\n:\n", groups).value_or(0), 0);
}

TEST(Findings, AreJudgedByGroupAndPrintedWithTheirAdvice) {
  const std::vector<FindingGroup> groups{
      {"machine",
       {{"governor", FindingState::warning, "powersave", "Set it."},
        {"cores", FindingState::ok, "4", ""}}},
      {"software", {{"git", FindingState::missing, "not there", "Install it."}}}};
  const report::Document document = findings_document(groups);
  EXPECT_EQ(document.lead, "machine: warning, software: missing.");
  EXPECT_EQ(document.tables.at(0).title, "machine: warning");
  EXPECT_EQ(document.tables.at(0).notes, std::vector<std::string>{"governor: Set it."});
  const auto json = nlohmann::json::parse(document.json());
  EXPECT_EQ(json.at("schema"), "dlscale.doctor");
  EXPECT_EQ(json.at("verdicts").at("software"), "missing");
  EXPECT_EQ(json.at("findings").size(), 3U);
  EXPECT_EQ(json.at("findings").at(2).at("advice"), "Install it.");
}

TEST(Launcher, IsThereIfTwoRanksMet) {
  const std::string met = "2 ranks by Open MPI 4.1.4\n";
  const Finding good = tried_launcher("mpirun", {.code = 0}, met);
  EXPECT_EQ(good.state, FindingState::ok);
  EXPECT_EQ(good.found, "mpirun: 2 ranks by Open MPI 4.1.4");
  const Finding failed = tried_launcher("mpirun", {.code = 1}, met + "Error: a leak\n");
  EXPECT_EQ(failed.state, FindingState::warning);
  EXPECT_EQ(failed.found, "mpirun: 2 ranks by Open MPI 4.1.4, which ended with exit code 1");
  EXPECT_THAT(failed.advice, HasSubstr("The ranks met"));
  EXPECT_EQ(tried_launcher("mpirun", {.code = 143, .timed_out = true}, met).state,
            FindingState::warning);
}

TEST(Launcher, IsMissingIfTheyDidNot) {
  const Finding failed = tried_launcher("mpirun", {.code = 1}, "Error: no slots\n");
  EXPECT_EQ(failed.state, FindingState::missing);
  EXPECT_EQ(failed.found, "mpirun: Error: no slots");
  EXPECT_EQ(tried_launcher("mpirun", {.code = 143, .timed_out = true}, "").found,
            "mpirun: two ranks did not end");
  // A launcher that says nothing and starts nothing, such as `true`, is none.
  EXPECT_EQ(tried_launcher("mpirun", {.code = 0}, "").state, FindingState::missing);
}

TEST(FailedLaunch, IsToldByTheLineThatSaysMost) {
  EXPECT_EQ(telling_line("-----\nThere are not enough slots\nError: none\ndlscale: 2 is not 1\n"),
            "dlscale: 2 is not 1");
  EXPECT_EQ(telling_line("-----\nsome words\nan Error: of them\n"), "an Error: of them");
  EXPECT_EQ(telling_line("-----\n\nsome words\n"), "some words");
  EXPECT_EQ(telling_line(""), "");
}

}  // namespace
}  // namespace dlscale::app
