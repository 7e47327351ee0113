#include "app/measure/result_files.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dlscale::app {
namespace {

using Libraries = std::map<std::string, std::string>;

ResultFile result_of(const std::string& backend, const Libraries& libraries,
                     const std::string& affinity = "0-15") {
  ResultFile file;
  file.header.environment.libraries = libraries;
  file.header.environment.cores = 112;
  file.header.environment.affinity = affinity;
  Measurement measurement;
  measurement.axes["backend"] = backend;
  file.measurements = {measurement};
  return file;
}

TEST(MeasuredGpus, AreThoseOfTheDataSheetThatTheDriverNames) {
  const std::vector files{result_of("cuda", {{"GPU", "NVIDIA H100 80GB HBM3"}})};
  const std::optional<Cluster> cluster = measured_gpus(files, "cuda", 1);
  ASSERT_TRUE(cluster.has_value());
  EXPECT_EQ(cluster->device.kind, DeviceKind::gpu);
  EXPECT_EQ(cluster->device.name, "NVIDIA H100 SXM5 80 GB");
  EXPECT_EQ(cluster->device.memory, Bytes(80e9));
  EXPECT_TRUE(cluster->device.peak.contains(DType::bf16));
  EXPECT_EQ(cluster->workers(), 1);
  EXPECT_EQ(cluster->host.cores, 16);
}

TEST(MeasuredGpus, OfNoDataSheetHaveTheMemoryThatTheResultsTellAndNoPeaks) {
  const std::vector files{
      result_of("cuda", {{"GPU", "NVIDIA Z900"}, {"GPU memory", "48.5 GB"}}, "0-3,8"),
      result_of("cuda", {{"GPU", "NVIDIA Z900"}}, "2")};
  const std::optional<Cluster> cluster = measured_gpus(files, "", 2);
  ASSERT_TRUE(cluster.has_value());
  EXPECT_EQ(cluster->device.kind, DeviceKind::gpu);
  EXPECT_EQ(cluster->device.name, "NVIDIA Z900");
  EXPECT_DOUBLE_EQ(cluster->device.memory.si(), 48.5e9);
  EXPECT_TRUE(cluster->device.peak.empty());
  EXPECT_EQ(cluster->workers(), 2);
  EXPECT_EQ(cluster->host.cores, 5);
}

TEST(MeasuredGpus, AreNotThereWhereAProcessorComputed) {
  const std::vector files{result_of("onednn", {{"oneDNN", "3.1"}}),
                          result_of("cuda", {{"GPU", "NVIDIA H200"}}, "unknown")};
  EXPECT_FALSE(measured_gpus(files, "onednn", 1).has_value());
  EXPECT_FALSE(measured_gpus(std::span(files).first(1), "", 1).has_value());
  EXPECT_EQ(measured_gpus(files, "cuda", 1)->host.cores, 112);
}

TEST(MeasuredGpus, AreToldFromProcessorsThatComputedForTheSameFile) {
  ResultFile file = result_of("onednn", {{"GPU", "NVIDIA H200"}, {"oneDNN", "3.1"}});
  Measurement given;
  given.axes["backend"] = "cuda";
  given.series["give"] = {};
  file.measurements.push_back(given);
  const std::vector files{file};
  EXPECT_FALSE(measured_gpus(files, "onednn", 1).has_value());
  EXPECT_TRUE(measured_gpus(files, "cuda", 1).has_value());
}

TEST(MeasuredGpus, TakeNothingFromAnAffinityThatIsNoList) {
  for (const char* affinity : {"", "-1", "3-1", "0-99999999999", "1,", "0-3 8", "a"}) {
    const std::vector files{result_of("cuda", {{"GPU", "NVIDIA H200"}}, affinity)};
    EXPECT_EQ(measured_gpus(files, "cuda", 1)->host.cores, 112) << affinity;
  }
}

}  // namespace
}  // namespace dlscale::app
