#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "app/cpu_ticks.hpp"
#include "app/doctor_findings.hpp"
#include "app/doctor_machine.hpp"
#include "app/doctor_noise.hpp"
#include "app/doctor_software.hpp"
#include "app/man_text.hpp"
#include "backend/host/quota.hpp"
#include "core/units.hpp"
#include "report/table.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A tree that looks like / of a quiet machine, in which a test changes what it is about.
class DoctoredMachine : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    const std::string cpu = "sys/devices/system/cpu/";
    write(cpu + "cpu0/cpufreq/scaling_governor", "performance");
    write(cpu + "cpu1/cpufreq/scaling_governor", "performance");
    write(cpu + "intel_pstate/no_turbo", "1");
    write(cpu + "smt/control", "off");
    write(cpu + "smt/active", "0");
    write(cpu + "cpu0/thermal_throttle/core_throttle_count", "0");
    write("sys/devices/system/node/online", "0");
    write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
    write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    write("proc/sys/kernel/randomize_va_space", "0");
    write("proc/loadavg", "0.05 0.10 0.12 1/200 4321");
    write("proc/stat", "cpu  1000 0 100 8900 0 0 0 0 0 0\nbtime 1700000000");
    write("proc/meminfo", "MemTotal: 16000000 kB\nMemFree: 1000 kB\nMemAvailable: 12000000 kB");
    write("proc/self/cgroup", "0::/job");
    view_ = {.root = root_,
             .cores = 4,
             .results = {"here", 5e10, 1e11},
             .shared_memory = {"/dev/shm", 8e9, 8e9}};
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }

  Finding finding(const std::string& name) {
    for (const Finding& one : check_machine(view_)) {
      if (one.name == name) return one;
    }
    ADD_FAILURE() << "no finding is called " << name;
    return {};
  }

  /// That the one of this name warns, says how it stands and what to do.
  void expect_warning(const std::string& name, const std::string& found,
                      const std::string& advice) {
    const Finding one = finding(name);
    EXPECT_EQ(one.state, FindingState::warning) << name;
    EXPECT_THAT(one.found, HasSubstr(found));
    EXPECT_THAT(one.advice, HasSubstr(advice));
  }

  fs::path root_ = fs::temp_directory_path() / "dlscale-doctored-machine";
  MachineView view_;
};

TEST_F(DoctoredMachine, IsInOrderWhereNothingIsInTheWay) {
  for (const Finding& one : check_machine(view_)) {
    if (one.name == "random addresses") continue;  // of this process, whatever the tree says
    EXPECT_EQ(one.state, FindingState::ok) << one.name << ": " << one.found;
    EXPECT_EQ(one.advice, "") << one.name;
  }
}

TEST_F(DoctoredMachine, TellsOfClocksThatChange) {
  write("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave");
  expect_warning("governor", "performance, powersave", "cpupower");
  write("sys/devices/system/cpu/intel_pstate/no_turbo", "0");
  expect_warning("turbo", "on", "no_turbo");
  write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "7");
  expect_warning("heat", "7 times", "fans");
}

TEST_F(DoctoredMachine, TellsOfCompany) {
  write("sys/devices/system/cpu/smt/active", "1");
  expect_warning("hardware threads", "several", "--cores-per-rank");
  write("proc/loadavg", "2.50 1.10 0.12 4/200 4321");
  expect_warning("load", "2.50", "--wait-quiet");
  expect_warning("runnable threads", "3 besides", "top");
  write("proc/stat", "cpu  1000 0 100 8000 0 0 0 900 0 0");
  expect_warning("steal", "9.0 %", "hypervisor");
}

TEST_F(DoctoredMachine, TellsOfMemoryThatIsSlowOrShort) {
  write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
  expect_warning("transparent huge pages", "[never]", "madvise");
  write("sys/devices/system/node/online", "0-1");
  write("proc/sys/kernel/numa_balancing", "1");
  expect_warning("memory nodes", "0-1, pages are moved", "numactl");
  write("proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 900000 kB");
  expect_warning("free memory", "0.9 of 16.4 GB", "killed");
}

TEST_F(DoctoredMachine, TellsOfLimitsOfItsControlGroup) {
  write("sys/fs/cgroup/job/cpu.max", "150000 100000");
  expect_warning("limit of processors", "1.5 of 4 cores", "--workers");
  write("sys/fs/cgroup/job/memory.max", "4000000000");
  expect_warning("limit of memory", "4.0 of 16.4 GB", "MemoryMax");
}

TEST_F(DoctoredMachine, TellsOfPlacesThatAreFull) {
  view_.results.free_bytes = 1e9;
  expect_warning("disk", "1.0 GB free at here", "-o");
  view_.shared_memory = {"/dev/shm", 6e7, 6.7e7};
  expect_warning("shared memory", "0.07 GB", "--shm-size");
  view_.shared_memory = {"/dev/shm", 1e6, 8e9};
  expect_warning("shared memory", "8.00 GB", "Remove");
  view_.shared_memory = {"/dev/shm", 0, 0};
  EXPECT_EQ(finding("shared memory").state, FindingState::missing);
}

TEST_F(DoctoredMachine, TellsOfAClockThatIsSlowToRead) {
  write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet");
  expect_warning("clock", "hpet", "call of the system");
}

TEST_F(DoctoredMachine, IsNotBlamedForWhatItDoesNotTell) {
  fs::remove_all(root_);
  for (const Finding& one : check_machine(view_)) {
    if (one.name == "random addresses") continue;
    EXPECT_TRUE(one.state == FindingState::ok || one.state == FindingState::unavailable)
        << one.name << ": " << one.found;
    EXPECT_NE(one.found, "") << one.name;
    EXPECT_EQ(one.advice, "") << one.name;
  }
  // Nor praised for it.
  for (const char* name : {"governor", "load", "steal", "free memory", "clock", "heat"}) {
    EXPECT_EQ(finding(name).state, FindingState::unavailable) << name;
  }
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

TEST_F(DoctoredMachine, CountsTicksWithoutThoseOfGuestsTwice) {
  write("proc/stat", "cpu  10 1 2 80 3 1 1 2 50 50");
  const auto ticks = read_cpu_ticks(root_);
  ASSERT_TRUE(ticks);
  EXPECT_DOUBLE_EQ(ticks->all, 100);
  EXPECT_DOUBLE_EQ(ticks->stolen, 2);
  write("proc/stat", "cpu  10 1 2");
  EXPECT_FALSE(read_cpu_ticks(root_));
}

/// Pairs of which the second takes so many times as long, with so much of an alternating error.
NoiseProbe probe_of(double ratio, double error) {
  NoiseProbe probe;
  for (int i = 0; i < 40; ++i) {
    const double off = i % 2 == 0 ? 1 + error : 1 / (1 + error);
    probe.pairs.push_back({Seconds(1e-3), Seconds(1e-3 * ratio * off)});
  }
  probe.time = Seconds(1);
  return probe;
}

FindingState state_of(const NoiseProbe& probe, const std::string& name) {
  for (const Finding& one : judge_noise(probe)) {
    if (one.name == name) return one.state;
  }
  ADD_FAILURE() << name;
  return FindingState::missing;
}

TEST(NoiseProbe, IsQuietWhereLikeIsLike) {
  for (const Finding& one : judge_noise(probe_of(1, 0.001))) {
    EXPECT_EQ(one.state, FindingState::ok) << one.name << ": " << one.found;
  }
}

TEST(NoiseProbe, WarnsOfShiftsWidthSpreadAndOfWhatCameBetween) {
  EXPECT_EQ(state_of(probe_of(1.03, 0.001), "like beside like"), FindingState::warning);
  EXPECT_EQ(state_of(probe_of(1, 0.04), "like beside like"), FindingState::warning);
  EXPECT_EQ(state_of(probe_of(1, 0.2), "spread"), FindingState::warning);
  NoiseProbe busy = probe_of(1, 0.001);
  busy.preemptions = 40;
  busy.stolen = 0.05;
  EXPECT_EQ(state_of(busy, "core taken away"), FindingState::warning);
  EXPECT_EQ(state_of(busy, "steal meanwhile"), FindingState::warning);
}

TEST(Findings, AreCountedAndPrintedWithTheirAdvice) {
  const std::vector<FindingGroup> groups{
      {"machine",
       {{"governor", FindingState::warning, "powersave", "Set it."},
        {"clock", FindingState::ok, "tsc", ""}}},
      {"tools", {{"git", FindingState::missing, "not there", "Install it."}}}};
  const report::Document document = findings_document(groups);
  EXPECT_EQ(document.lead, "1 missing, 1 warning.");
  EXPECT_EQ(document.tables.at(0).notes, std::vector<std::string>{"governor: Set it."});
  const auto json = nlohmann::json::parse(document.json());
  EXPECT_EQ(json.at("schema"), "dlscale.doctor");
  EXPECT_EQ(json.at("findings").size(), 3U);
  EXPECT_EQ(json.at("findings").at(2).at("advice"), "Install it.");
}

TEST(FailedLaunch, IsToldByTheLineThatSaysMost) {
  EXPECT_EQ(telling_line("-----\nThere are not enough slots\nError: none\ndlscale: 2 is not 1\n"),
            "2 is not 1");
  EXPECT_EQ(telling_line("-----\nsome words\nan Error: of them\n"), "an Error: of them");
  EXPECT_EQ(telling_line("-----\n\nsome words\n"), "some words");
  EXPECT_EQ(telling_line(""), "it said nothing");
}

TEST(ManText, ShowsWhatIsTypedAsItIsTyped) {
  EXPECT_EQ(man_text("--no-check of data-parallel"), "\\-\\-no\\-check of data-parallel");
  EXPECT_EQ(man_text(R"(say "x" \ 'y' ~^`)"), R"(say \(dqx\(dq \e \(aqy\(aq \(ti\(ha\(ga)");
  EXPECT_EQ(man_text("(--a|-b)"), "(\\-\\-a|\\-b)");
}

TEST(ManText, IsNeverTakenForAMacro) {
  EXPECT_EQ(man_paragraph(".dot"), "\\&.dot\n");
  EXPECT_EQ(man_lines(".dot\n'quote  \n"), "\\&.dot\n\\(aqquote\n");
  std::string words;
  for (int i = 0; i < 60; ++i) words += "..x ";
  std::istringstream lines(man_paragraph(words));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("\\&..x")) << line;
    EXPECT_LE(line.size(), 80U);
  }
  EXPECT_EQ(man_paragraph("  "), "");
}

}  // namespace
}  // namespace dlscale::app
