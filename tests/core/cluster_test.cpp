#include "core/cluster/cluster.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "core/config/config_path.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::expect_contains;

constexpr std::string_view small_cluster = R"(cluster: small
nodes: 2
devices_per_node: 1
device:
  name: some processor
  kind: cpu
  peak: {f32: 1.5 TFLOP/s, bf16: 3 TFLOP/s}
  memory_bandwidth: 40 GB/s
  memory: 16 GiB
  source: its data sheet
host: {cores: 8, source: its data sheet}
links:
  host_device: {name: copy, latency: 1 us, bandwidth: 20 GB/s, source: guess}
  inter_node: {name: 25 GbE, latency: 20 us, bandwidth: 25 Gb/s, source: IEEE 802.3by}
)";

Cluster load_text(std::string_view text) {
  const test::TemporaryFolder folder;
  return load_cluster(folder.write("small.yaml", text).string());
}

/// The error of `small_cluster` with `from` replaced by `to`.
std::string error_after(std::string_view from, std::string_view to) {
  return test::config_error([&] { (void)load_text(test::replaced(small_cluster, from, to)); });
}

TEST(ConfiguredClusters, AllLoadAndAreCalledLikeTheirFiles) {
  const std::vector<std::string> names = config_names("clusters");
  EXPECT_GE(names.size(), 25U);
  for (const std::string& name : names) {
    const Cluster cluster = load_cluster(name);
    EXPECT_EQ(cluster.name, name);
    EXPECT_TRUE(cluster.device.peak.contains(DType::f32)) << name;
    EXPECT_GT(cluster.workers(), 1) << name;
    EXPECT_EQ(cluster.device.sheet.empty(), cluster.device.kind == DeviceKind::cpu) << name;
    EXPECT_GT(cluster.host.decode, Seconds(0)) << name;
    EXPECT_GT(cluster.storage.read_bandwidth, BytesPerSecond(0)) << name;
  }
}

TEST(ConfiguredClusters, FoundingTestbedIsFourTimesFourP40) {
  const Cluster cluster = load_cluster("p40x16");
  EXPECT_EQ(cluster.nodes, 4);
  EXPECT_EQ(cluster.workers(), 16);
  // 3840 cores, one multiply-add each a clock
  EXPECT_NEAR(cluster.device.peak.at(DType::f32).si(), 3840 * 2 * 1.531e9, 0.01e12);
  EXPECT_LT(cluster.inter_node.bandwidth, cluster.intra_node.bandwidth);
}

TEST(ConfiguredClusters, KnowTensorCoresByTheirPrecisions) {
  for (const char* name : {"dgx1", "v100x16_ib100"}) {
    const auto peak = load_cluster(name).device.peak;
    EXPECT_DOUBLE_EQ(peak.at(DType::f16).si(), 125e12) << name;
    EXPECT_FALSE(peak.contains(DType::bf16) || peak.contains(DType::tf32)) << name;
  }
  const Cluster h200 = load_cluster("h200x8");
  // Of dense matrices: 132 multiprocessors at 1.83 GHz, 4096 operations of 16 bits a clock.
  EXPECT_NEAR(h200.device.peak.at(DType::bf16).si(), 132 * 1.83e9 * 4096, 1e12);
  EXPECT_EQ(h200.device.peak.at(DType::f16), h200.device.peak.at(DType::bf16));
  // Half as many; the data sheet rounds.
  EXPECT_NEAR(h200.device.peak.at(DType::tf32).si(), h200.device.peak.at(DType::bf16).si() / 2,
              0.5e12);
  EXPECT_DOUBLE_EQ(h200.inter_node.bandwidth.si(), 8 * 400e9 / 8);
  EXPECT_NEAR(h200.host_device.bandwidth.si(), 32e9 * 16 * 128 / 130 / 8, 1e7);
}

TEST(ClusterFile, ReadsUnitsIntoSi) {
  const Cluster cluster = load_text(small_cluster);
  EXPECT_EQ(cluster.device.kind, DeviceKind::cpu);
  EXPECT_DOUBLE_EQ(cluster.device.peak.at(DType::bf16).si(), 3e12);
  EXPECT_DOUBLE_EQ(cluster.device.memory.si(), 16.0 * 1024 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(cluster.inter_node.bandwidth.si(), 25e9 / 8);
  EXPECT_DOUBLE_EQ(cluster.inter_node.latency.si(), 20e-6);
  EXPECT_EQ(cluster.storage.read_bandwidth, BytesPerSecond());  // not known
}

constexpr std::string_view nccl_keys = R"(nccl:
  gpu: ampere
  fabric: pcie
  processor: amd
  gpu_bandwidth: 12 GB/s
  adapters: 2
  adapter_bandwidth: 10 GB/s
  source: NCCL
)";

constexpr std::string_view stated_device = R"(  name: some processor
  kind: cpu
  peak: {f32: 1.5 TFLOP/s, bf16: 3 TFLOP/s}
  memory_bandwidth: 40 GB/s
  memory: 16 GiB
  source: its data sheet
)";

std::string with_device(std::string_view lines) {
  return test::replaced(small_cluster, stated_device, lines);
}

/// `small_cluster` with GPUs in place of processors.
std::string of_gpus() {
  return with_device("  {sheet: v100_sxm2_16gb, launch: 4 us, source: a post}\n");
}

TEST(ClusterFile, AGpuNamesItsDataSheet) {
  const std::string text = test::replaced(small_cluster, "kind: cpu", "kind: gpu\n  launch: 4 us");
  expect_contains(
      test::config_error([&] { (void)load_text(text); }),
      "/device/kind is \"gpu\" (the times of a GPU depend on figures that only its data "
      "sheet has). Name it instead: {sheet: ");
}

TEST(ClusterFile, StorageMayStateSamplesASecond) {
  const auto with_storage = [](std::string_view rate) {
    return std::string(small_cluster) + "storage: {read_bandwidth: " + std::string(rate) +
           ", source: measured}\n";
  };
  for (const std::string_view rate : {"12000/s", "12000 images/s", "12000 sequences/s"}) {
    EXPECT_EQ(load_text(with_storage(rate)).storage.read_bandwidth, BytesPerSecond(12000 * 110e3));
  }
  EXPECT_EQ(load_text(with_storage("500 MB/s")).storage.read_bandwidth, BytesPerSecond(500e6));
  for (const std::string_view rate : {"0/s", "-3 images/s", "1.2.3/s", "1e99/s"}) {
    expect_contains(test::config_error([&] { (void)load_text(with_storage(rate)); }),
                    "/storage/read_bandwidth is");
  }
}

TEST(ClusterFile, ADeviceHasTheFiguresOfItsDataSheet) {
  const Device device =
      load_text(with_device("  {sheet: h100_sxm5_80gb, launch: 3 us, source: a post}\n")).device;
  const Device of_sheet = nominal_device(load_device_sheet("h100_sxm5_80gb"), 3.0_us);
  EXPECT_EQ(device.sheet, "h100_sxm5_80gb");
  EXPECT_EQ(device.name, of_sheet.name);
  EXPECT_EQ(device.kind, DeviceKind::gpu);
  EXPECT_EQ(device.peak, of_sheet.peak);
  EXPECT_EQ(device.memory, of_sheet.memory);
  EXPECT_EQ(device.memory_bandwidth, of_sheet.memory_bandwidth);
  EXPECT_EQ(device.launch, 3.0_us);
  EXPECT_TRUE(device.source.ends_with("; a post")) << device.source;
  EXPECT_EQ(load_text(small_cluster).device.sheet, "");
}

TEST(ClusterFile, AnUnknownDataSheetIsRefusedWithTheNearest) {
  const auto error = [](std::string_view lines) {
    return test::config_error([&] { (void)load_text(with_device(lines)); });
  };
  expect_contains(error("  {sheet: h100_sxm5_80, launch: 3 us, source: a post}\n"),
                  "/device/sheet is \"h100_sxm5_80\" (no data sheet");
  expect_contains(error("  {sheet: h100_sxm5_80, launch: 3 us, source: a post}\n"),
                  "Did you mean \"h100_sxm5_80gb\"?");
  expect_contains(error("  {sheet: v100_sxm2_16gb, source: a post}\n"),
                  "/device/launch is missing");
  expect_contains(error("  {sheet: v100_sxm2_16gb, launch: 3 us, memory: 16 GB, source: a post}\n"),
                  "memory is not a known key");
}

TEST(ClusterFile, FactsForNcclMeanItsAllReduce) {
  EXPECT_EQ(load_text(small_cluster).all_reduce, AllReduceRule::quickest);
  const std::string with_nccl = of_gpus().append(nccl_keys);
  const Cluster cluster = load_text(with_nccl);
  EXPECT_EQ(cluster.all_reduce, AllReduceRule::nccl);
  ASSERT_TRUE(cluster.nccl);
  EXPECT_EQ(cluster.nccl->gpu, NcclFacts::Gpu::ampere);
  EXPECT_EQ(cluster.nccl->fabric, NcclFacts::Fabric::pcie);
  EXPECT_EQ(cluster.nccl->processor, NcclFacts::Processor::amd);
  EXPECT_EQ(cluster.nccl->adapters, 2);
  EXPECT_DOUBLE_EQ(cluster.nccl->adapter_bandwidth.si(), 10e9);
  EXPECT_EQ(load_text(with_nccl + "all_reduce: hierarchical\n").all_reduce,
            AllReduceRule::hierarchical);
}

TEST(ClusterFile, WrongAllReduceIsRefusedByName) {
  const auto error = [](const std::string& more) {
    return test::config_error([&] { (void)load_text(of_gpus().append(more)); });
  };
  expect_contains(
      test::config_error([] { (void)load_text(std::string(small_cluster).append(nccl_keys)); }),
      "/nccl describes NCCL, which joins GPUs");
  expect_contains(error("all_reduce: nccl\n"), "Add the key nccl");
  expect_contains(error("all_reduce: tree\n"), "/all_reduce: \"tree\" is not a rule");
  expect_contains(error(test::replaced(nccl_keys, "ampere", "amper")), "Did you mean \"ampere\"?");
  expect_contains(error(test::replaced(nccl_keys, "adapters: 2", "adapters: 0")), "/nccl/adapters");
  for (const std::string_view rate : {"0.01 B/s", "999 kB/s", "2000 TB/s"}) {
    expect_contains(error(test::replaced(nccl_keys, "12 GB/s", rate)),
                    "/nccl/gpu_bandwidth is \"" + std::string(rate) + "\" (out of");
    expect_contains(error(test::replaced(nccl_keys, "10 GB/s", rate)), "/nccl/adapter_bandwidth");
  }
}

TEST(ClusterFile, BareNumberIsRefusedWithWhatToWrite) {
  const std::string error = error_after("bandwidth: 25 Gb/s", "bandwidth: 25");
  expect_contains(error, "small.yaml: /links/inter_node/bandwidth is 25 (no unit)");
  expect_contains(error, "Write \"25 GB/s\" or \"25 Gb/s\".");
}

TEST(ClusterFile, UnitOfAnotherDimensionIsRefused) {
  expect_contains(error_after("latency: 20 us", "latency: 20 GB"), "a time is wanted");
}

TEST(ClusterFile, NegativeAndZeroAreRefused) {
  expect_contains(error_after("latency: 20 us", "latency: -20 us"), "/links/inter_node/latency");
  expect_contains(error_after("latency: 20 us", "latency: 0 us"), "not greater than zero");
  expect_contains(error_after("nodes: 2", "nodes: 0"), "/nodes is \"0\" (out of range)");
  expect_contains(error_after("nodes: 2", "nodes: 2.5"), "not a whole number");
}

TEST(ClusterFile, UnknownKeyIsRefusedWithTheNearest) {
  expect_contains(error_after("memory_bandwidth", "memory_bandwith"),
                  "small.yaml: /device/memory_bandwith is not a known key. Did you mean "
                  "\"memory_bandwidth\"?");
  expect_contains(error_after("nodes: 2", "nods: 2"), "/nods is not a known key. Did you mean");
  expect_contains(error_after("peak: {f32:", "peak: {fp32:"), "/device/peak/fp32 is not a known");
  expect_contains(error_after("{name: copy, latency", "{name: copy, latencey"),
                  "/links/host_device/latencey is not a known key. Did you mean \"latency\"?");
  expect_contains(error_after("host: {cores: 8,", "host: {cores: 8, decod: 3 ms,"),
                  "small.yaml: /host/decod is not a known key. Did you mean \"decode\"?");
}

TEST(ClusterFile, MissingKeyIsNamedWithItsPath) {
  expect_contains(error_after(", source: IEEE 802.3by", ""), "/links/inter_node/source is missing");
  expect_contains(error_after("  inter_node:", "  intra_node:"), "/links/inter_node is missing");
}

TEST(ClusterFile, WrongShapeOfValueIsRefused) {
  expect_contains(error_after("host: {cores: 8, source: its data sheet}", "host: 8"),
                  "/host is a single value. Write a mapping");
  expect_contains(error_after("kind: cpu", "kind: tpu"), "Allowed: cpu, gpu");
  expect_contains(error_after("nodes: 2", "nodes: 2\nnodes: 3"), "/nodes occurs twice");
}

TEST(ClusterFile, NoYamlIsRefusedWithItsLine) {
  expect_contains(error_after("nodes: 2", "nodes: [2"), "small.yaml:");
  expect_contains(test::config_error([] { (void)load_text(""); }), "the file is empty");
}

TEST(ClusterFile, UnknownNameListsTheOnesThereAre) {
  const std::string error = test::config_error([] { (void)load_cluster("p40x61"); });
  expect_contains(error, "There is: p40x16");
  expect_contains(test::config_error([] { (void)load_cluster("no/such.yaml"); }),
                  "no/such.yaml is not a file");
}

}  // namespace
}  // namespace dlscale
