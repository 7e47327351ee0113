#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "backend/power/device_monitor.hpp"
#include "backend/power/gpu_facts.hpp"
#include "backend/power/nvml_library.hpp"
#include "core/base/error.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::backend {
namespace {

// The offsets that a C compiler gives nvmlFieldValue_t of nvml.h.
static_assert(offsetof(NvmlFieldValue, timestamp) == 8 && offsetof(NvmlFieldValue, type) == 24);
static_assert(offsetof(NvmlFieldValue, code) == 28 && offsetof(NvmlFieldValue, value) == 32);
static_assert(sizeof(NvmlFieldValue) == 40);

constexpr const char* known_gpu = "0000:3b:00.0";
constexpr const char* mean_power_gpu = "0000:5e:00.0";

/// What the Unsupported of open_nvml() says.
std::string refusal(const std::string& bus_id, const std::string& library) {
  try {
    static_cast<void>(open_nvml(bus_id, library));
  } catch (const Unsupported& error) {
    return error.what();
  }
  ADD_FAILURE() << "it was not refused";
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(GpuFacts, AreThoseThatNvmlTells) {
  const Facts facts = gpu_facts(FAKE_NVML);
  EXPECT_EQ(facts.at("gpu_driver"), "575.57.08");
  const std::string gpu = facts.at("gpu_0");
  EXPECT_TRUE(contains(gpu, "Fake H200; UUID GPU-1234; ")) << gpu;
  EXPECT_TRUE(contains(gpu, "VBIOS unavailable: this version of NVML lacks")) << gpu;
  EXPECT_TRUE(contains(gpu, "power limit 700 W; application clock unavailable: Not Supported"))
      << gpu;
  EXPECT_TRUE(contains(gpu, "ECC on; MIG off")) << gpu;
}

TEST(GpuFacts, SayWhyThereAreNone) {
  EXPECT_EQ(gpu_facts("libno_such_nvml.so").at("gpu").find("unavailable: "), 0U);
  EXPECT_EQ(gpu_facts(DRIVERLESS_NVML).at("gpu").find("unavailable: "), 0U);
  EXPECT_EQ(gpu_facts(LACKING_NVML).at("gpu").find("unavailable: "), 0U);
}

TEST(DeviceMonitor, ReadsWhatNvmlTellsInSiUnits) {
  const DeviceState state = open_nvml(known_gpu, FAKE_NVML)->read();
  EXPECT_DOUBLE_EQ(state.processor_clock_hz.value(), 1980e6);
  EXPECT_DOUBLE_EQ(state.memory_clock_hz.value(), 3201e6);
  EXPECT_DOUBLE_EQ(state.power_w.value(), 701.5);
  EXPECT_EQ(state.throttle_reasons.value(), 0x41U);
}

TEST(DeviceMonitor, ReadsTheMeanOfPowerWhereThatOfTheMomentIsNotTold) {
  EXPECT_DOUBLE_EQ(open_nvml(mean_power_gpu, FAKE_NVML)->read().power_w.value(), 655.25);
}

TEST(DeviceMonitor, LeavesOutWhatNvmlDoesNotTell) {
  EXPECT_FALSE(open_nvml(known_gpu, FAKE_NVML)->read().temperature_c);
}

TEST(DeviceMonitor, ReadsTheEnergyCounterAnewEachTime) {
  const auto monitor = open_nvml(known_gpu, FAKE_NVML);
  const DeviceState first = monitor->read();
  const DeviceState second = monitor->read();
  EXPECT_DOUBLE_EQ(second.energy_j.value() - first.energy_j.value(), 2.0);
}

TEST(DeviceMonitor, CountsTheProcessesOnTheGpu) {
  EXPECT_EQ(open_nvml(known_gpu, FAKE_NVML)->processes(), 2);
  EXPECT_FALSE(open_nvml(mean_power_gpu, FAKE_NVML)->processes());
}

TEST(DeviceMonitor, SaysThatThereIsNoNvml) {
  const std::string reason = refusal(known_gpu, "libnvidia-ml-that-is-nowhere.so.1");
  EXPECT_TRUE(contains(reason, "libnvidia-ml-that-is-nowhere.so.1")) << reason;
  EXPECT_TRUE(contains(reason, "driver")) << reason;
}

TEST(DeviceMonitor, SaysThatALibraryIsNotNvml) {
  EXPECT_TRUE(contains(refusal(known_gpu, LACKING_NVML), "lacks functions"));
}

TEST(DeviceMonitor, SaysThatTheDriverIsNotLoaded) {
  EXPECT_TRUE(contains(refusal(known_gpu, DRIVERLESS_NVML), "Driver Not Loaded"));
}

TEST(DeviceMonitor, SaysThatNvmlDoesNotKnowTheGpu) {
  const std::string reason = refusal("0000:99:00.0", FAKE_NVML);
  EXPECT_TRUE(contains(reason, "0000:99:00.0: Not Found")) << reason;
}

TEST(ThrottleNames, AreThoseOfLimitsOnly) {
  constexpr std::uint64_t idle = 0x1;
  constexpr std::uint64_t set_by_user = 0x2;
  constexpr std::uint64_t display = 0x100;
  EXPECT_TRUE(throttle_names(0).empty());
  EXPECT_TRUE(throttle_names(idle | set_by_user | display).empty());
  EXPECT_EQ(throttle_names(idle | 0x4), (std::vector<std::string>{"power limit"}));
  EXPECT_EQ(throttle_names(0xFC).size(), 6U);
}

}  // namespace
}  // namespace dlscale::backend
