#include "core/cluster/device_file.hpp"
#include "core/base/statistics.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/statistics.hpp"
#include "core/cluster/link_kind.hpp"
#include "core/config/config_path.hpp"
#include "tests/core/mutated.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::expect_contains;

constexpr std::string_view small_sheet = R"(device: small
name: NVIDIA Tesla Small 16 GB
aliases: [Small-16GB, "the small one"]
architecture: volta
chip: GX1
launched: 2018
memory: 16 GB
memory_bandwidth: 900 GB/s
multiprocessors: 80
cores: 5120
boost_clock: 1530 MHz
base_clock: 1290 MHz
tensor_clock: 1527 MHz
power: 300 W
process: 12 nm
peak: {f64: 7.8 TFLOP/s, f32: 15.7 TFLOP/s, f16: 125 TFLOP/s}
host_link: pcie3x16
nvlink: {generation: 2, links: 6, bandwidth: 150 GB/s}
sources:
  - {of: [memory, peak], title: its data sheet, url: "https://example.org/sheet", checked: true}
  - of: [launched, memory_bandwidth, multiprocessors, cores, boost_clock, base_clock, tensor_clock,
         power, process, host_link, nvlink]
    title: another
)";

DeviceSheet device_file_load_text(std::string_view text) {
  return test::load_text(text, [](const std::string& file) { return load_device_sheet(file); });
}

std::string device_file_error_after(std::string_view from, std::string_view to) {
  return test::error_after(small_sheet, from, to,
                           [](const std::string& file) { return load_device_sheet(file); });
}

/// The most multiply-adds of f16 with sums in f32, times two, that tensor or matrix cores of one
/// multiprocessor finish a clock, by chip. [NVIDIA's architecture white papers: 8 tensor cores of
/// 64 multiply-adds in Volta and Turing, 4 of 256 in GA100, 4 of 128 in GA10x, AD10x and GB20x, 4
/// of 512 in GH100, 4 of 1024 in GB100. AMD's of CDNA: 4 matrix cores of 128, 256 and 512]
const std::map<std::string, double> dense_operations_a_clock{
    {"GV100", 1024},     {"TU102", 1024},         {"TU104", 1024}, {"GA100", 2048},
    {"GA102", 1024},     {"AD102", 1024},         {"AD104", 1024}, {"GH100", 4096},
    {"GB100", 8192},     {"GB110", 8192},         {"GB202", 1024}, {"Arcturus", 1024},
    {"Aldebaran", 1024}, {"Aqua Vanjaram", 2048}, {"gfx950", 4096}};

/// With sparsity it would be twice that.
double dense_peak(const DeviceSheet& sheet) {
  const double operations = dense_operations_a_clock.at(sheet.chip);
  return operations * sheet.multiprocessors * sheet.tensor_clock.si();
}

TEST(ConfiguredDevices, AllLoadAndAreCalledLikeTheirFiles) {
  const std::vector<std::string> names = config_names("devices");
  EXPECT_GE(names.size(), 58U);
  for (const std::string& name : names) EXPECT_EQ(load_device_sheet(name).id, name);
}

TEST(ConfiguredDevices, AnswerToOneNameEach) {
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  EXPECT_EQ(catalogue.at("V100-SXM2-16GB").id, "v100_sxm2_16gb");
  EXPECT_EQ(catalogue.at("nvidia tesla v100 sxm2 16gb").id, "v100_sxm2_16gb");
  EXPECT_EQ(catalogue.at("K80 (one of two dies)").id, "k80");
  EXPECT_EQ(catalogue.at("GeForce RTX 2080Ti").id, "rtx_2080_ti");
  EXPECT_EQ(catalogue.at("AMD Instinct MI300X").id, "mi300x");
  for (const char* name : {"GB300", "GB300-279GB", "GB300-288GB", "NVIDIA GB300 NVL72"}) {
    EXPECT_EQ(catalogue.at(name).id, "gb300") << name;
  }
  EXPECT_NE(catalogue.at("TitanX").id, catalogue.at("TitanX Pascal").id);
}

TEST(ConfiguredDevices, StateDensePeaks) {
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  int with_tensor_cores = 0;
  for (const DeviceSheet& sheet : catalogue.sheets()) {
    if (!dense_operations_a_clock.contains(sheet.chip)) {
      EXPECT_FALSE(sheet.peak.contains(SheetFormat::bf16)) << sheet.id;
      continue;
    }
    ++with_tensor_cores;
    const double half = sheet.peak.at(SheetFormat::f16).si();
    // Boards for games, and L40, add in f32 at half the rate.
    const double share = half / dense_peak(sheet);
    EXPECT_NEAR(share, share < 0.75 ? 0.5 : 1, 0.02) << sheet.id;
    if (sheet.peak.contains(SheetFormat::tf32)) {
      EXPECT_NEAR(sheet.peak.at(SheetFormat::tf32).si() / half, 0.5, 0.02) << sheet.id;
    }
    if (sheet.peak.contains(SheetFormat::f8)) {
      EXPECT_NEAR(sheet.peak.at(SheetFormat::f8).si() / half, 2, 0.03) << sheet.id;
    }
    if (sheet.peak.contains(SheetFormat::f4)) {
      // Twice that in 8 bits, but for Blackwell Ultra, and boards for games, whose sums in f32 make
      // 8 bits slower.
      const std::map<std::string, double> others{{"GB110", 3}, {"GB202", 4}};
      const double rate = sheet.peak.at(SheetFormat::f4) / sheet.peak.at(SheetFormat::f8);
      EXPECT_NEAR(rate, others.contains(sheet.chip) ? others.at(sheet.chip) : 2, 0.1) << sheet.id;
    }
  }
  EXPECT_GE(with_tensor_cores, 40);
}

TEST(ConfiguredDevices, AreWithinWhatPhysicsAllows) {
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  for (const DeviceSheet& sheet : catalogue.sheets()) {
    const LinkKind host = load_link_kind(sheet.host_link);
    EXPECT_LT(host.bandwidth(), sheet.memory_bandwidth) << sheet.id;
    // Reading all of its memory once takes about a hundredth of a second, or some.
    const double sweep = (sheet.memory / sheet.memory_bandwidth).si();
    EXPECT_GT(sweep, 0.008) << sheet.id;
    EXPECT_LT(sweep, 0.1) << sheet.id;
    if (sheet.nvlink) {
      EXPECT_GE(sheet.nvlink->bandwidth, host.bandwidth()) << sheet.id;
      EXPECT_LT(sheet.nvlink->bandwidth, sheet.memory_bandwidth) << sheet.id;
    }
    EXPECT_GE(sheet.launched, 2006) << sheet.id;
  }
}

TEST(ConfiguredDevices, HaveTheBandwidthOfTheirLinks) {
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  const std::map<std::string, std::string> kinds{
      {"P100-SXM2-16GB", "nvlink1"}, {"V100-SXM2-32GB", "nvlink2"}, {"V100-SXM3-32GB", "nvswitch2"},
      {"A100-SXM4-80GB", "nvlink3"}, {"H100-SXM5-80GB", "nvlink4"}, {"GB200", "nvlink5"}};
  for (const auto& [gpu, kind] : kinds) {
    const DeviceSheet& sheet = catalogue.at(gpu);
    ASSERT_TRUE(sheet.nvlink) << gpu;
    const LinkKind link = load_link_kind(kind);
    EXPECT_DOUBLE_EQ(sheet.nvlink->bandwidth.si(), link.bandwidth().si()) << gpu;
    EXPECT_EQ(sheet.nvlink->links, link.channels) << gpu;
  }
}

/// The names of GPUs in a file of cases: what follows each "gpu":.
std::set<std::string> gpus_in(const std::string& text) {
  constexpr std::string_view key = R"("gpu":")";
  std::set<std::string> names;
  for (auto at = text.find(key); at != std::string::npos; at = text.find(key, at)) {
    at += key.size();
    names.insert(text.substr(at, text.find('"', at) - at));
  }
  return names;
}

TEST(ConfiguredDevices, KnowTheGpusOfPublishedCases) {
  const std::filesystem::path file =
      std::filesystem::path(DLSCALE_SHARED_DATA) / "validation" / "open.jsonl";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  const std::set<std::string> names = gpus_in(test::read_file(file));
  EXPECT_GE(names.size(), 15U);
  for (const std::string& name : names) EXPECT_NE(catalogue.find(name), nullptr) << name;
}

TEST(DeviceFile, ReadsUnitsIntoSi) {
  const DeviceSheet sheet = device_file_load_text(small_sheet);
  EXPECT_EQ(sheet.memory, Bytes(16e9));
  EXPECT_DOUBLE_EQ(sheet.boost_clock.si(), 1.53e9);
  ASSERT_TRUE(sheet.base_clock);
  EXPECT_DOUBLE_EQ(sheet.base_clock->si(), 1.29e9);
  EXPECT_DOUBLE_EQ(sheet.tensor_clock.si(), 1.527e9);
  EXPECT_EQ(sheet.power_w, 300);
  EXPECT_EQ(sheet.process_nm, 12);
  EXPECT_DOUBLE_EQ(sheet.peak.at(SheetFormat::f16).si(), 125e12);
  ASSERT_TRUE(sheet.nvlink);
  EXPECT_EQ(sheet.nvlink->links, 6);
  ASSERT_EQ(sheet.sources.size(), 2U);
  EXPECT_TRUE(sheet.sources[0].checked);
  EXPECT_FALSE(sheet.sources[1].checked);
}

TEST(DeviceFile, ClocksMayBeLeftOut) {
  std::string text =
      test::replaced(small_sheet, "base_clock: 1290 MHz\ntensor_clock: 1527 MHz\n", "");
  text = test::replaced(text, "base_clock, tensor_clock,", "");
  const DeviceSheet sheet = device_file_load_text(text);
  EXPECT_FALSE(sheet.base_clock);
  EXPECT_EQ(sheet.tensor_clock, sheet.boost_clock);
  const Device device = nominal_device(sheet, Seconds(1e-6));
  EXPECT_EQ(device.units->base_clock, usual_base_share * sheet.boost_clock);
}

TEST(DeviceFile, UnknownBaseClockIsTheMedianShareOfBoost) {
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  std::vector<double> shares;
  for (const DeviceSheet& sheet : catalogue.sheets()) {
    if (sheet.base_clock) shares.push_back(*sheet.base_clock / sheet.boost_clock);
  }
  EXPECT_NEAR(median(shares), usual_base_share, 0.01);
}

TEST(DeviceFile, PowerAndProcessNeedTheirUnits) {
  expect_contains(device_file_error_after("300 W", "0.3 kW"), "/power is \"0.3 kW\" (no power");
  expect_contains(device_file_error_after("12 nm", "12"), "/process is \"12\" (no process");
}

TEST(DeviceFile, NoClockIsAboveBoost) {
  expect_contains(device_file_error_after("1290 MHz", "1540 MHz"),
                  "/base_clock is \"1540 MHz\" (above");
  expect_contains(device_file_error_after("1527 MHz", "1540 MHz"), "/tensor_clock");
}

TEST(DeviceFile, ContradictingFiguresAreRefused) {
  expect_contains(device_file_error_after("f32: 15.7", "f32: 31.4"),
                  "/peak/f32 is \"31.4 TFLOP/s\" (but");
  expect_contains(device_file_error_after("f32: 15.7", "f32: 31.4"), "make 15.7 TFLOP/s");
  expect_contains(device_file_error_after("f16: 125", "f16: 12.5"), "/peak/f16");
  expect_contains(device_file_error_after("f64: 7.8", "f64: 78"), "/peak/f64");
  expect_contains(device_file_error_after("f16: 125 TFLOP/s", "f16: 125 TFLOP/s, f8: 62 TFLOP/s"),
                  "sparsity");
  expect_contains(device_file_error_after("cores: 5120", "cores: 5121"),
                  "/cores is \"5121\" (no multiple");
  expect_contains(device_file_error_after("bandwidth: 150 GB/s", "bandwidth: 300 GB/s"),
                  "/nvlink/bandwidth is \"300 GB/s\" (more than");
  expect_contains(device_file_error_after("bandwidth: 150 GB/s", "bandwidth: 300 GB/s"),
                  "one direction");
}

TEST(DeviceFile, WrongValuesAreRefusedByName) {
  expect_contains(device_file_error_after("1530 MHz", "1530"),
                  "/boost_clock is \"1530\" (no clock");
  expect_contains(device_file_error_after("1530 MHz", "1530 GHz"), "/boost_clock");
  expect_contains(device_file_error_after("1530 MHz", "nan MHz"), "/boost_clock");
  expect_contains(device_file_error_after("pcie3x16", "pci3x16"), "Did you mean \"pcie3x16\"?");
  expect_contains(device_file_error_after("memory: 16 GB", "memory: 16 TB"),
                  "/memory is \"16 TB\" (out of");
  expect_contains(device_file_error_after("launched: 2018", "launched: 18"), "/launched");
  expect_contains(device_file_error_after("memory: 16 GB", "memroy: 16 GB"),
                  "Did you mean \"memory\"?");
  expect_contains(device_file_error_after("f32: 15.7 TFLOP/s, ", ""), "/peak/f32 is missing");
  expect_contains(device_file_error_after("the small one", "-"), "/aliases");
}

TEST(DeviceFile, EveryFigureNeedsASource) {
  expect_contains(device_file_error_after("[memory, peak]", "[memory]"), "/peak has no source");
  expect_contains(device_file_error_after("[memory, peak]", "[memory, peaks]"),
                  "Did you mean \"peak\"?");
  expect_contains(device_file_error_after(", url: \"https://example.org/sheet\"", ""),
                  "/sources/0/checked is \"true\" (without");
  expect_contains(device_file_error_after("https://example.org/sheet", "example.org"),
                  "/sources/0/url");
  EXPECT_EQ(device_file_load_text(test::replaced(small_sheet, "[memory, peak]", "all"))
                .sources[0]
                .of.size(),
            13U);
}

TEST(DeviceCatalogue, UnknownNameSuggestsTheNearest) {
  const DeviceCatalogue catalogue({device_file_load_text(small_sheet)});
  EXPECT_EQ(catalogue.find("V100"), nullptr);
  expect_contains(test::config_error([&] { (void)catalogue.at("Small-16G"); }),
                  "Did you mean \"Small-16GB\"?");
}

TEST(DeviceCatalogue, TwoSheetsOfOneNameAreRefused) {
  DeviceSheet other = device_file_load_text(small_sheet);
  other.id = "other";
  other.name = "Other";
  const std::string error = test::config_error([&] {
    (void)DeviceCatalogue({device_file_load_text(small_sheet), other});
  });
  expect_contains(error, "small and other both answer to \"Small-16GB\"");
}

TEST(DeviceFile, DamagedTextIsReadOrRefused) {
  test::expect_no_crash(small_sheet,
                        [](const std::string& file) { return load_device_sheet(file); });
}

}  // namespace
}  // namespace dlscale
