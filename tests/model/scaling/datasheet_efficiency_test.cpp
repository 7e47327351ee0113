#include "model/topology/datasheet_efficiency.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/cluster/device_file.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/scaling/fit/interval.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {
namespace {

using scaling::Weighted;

/// A published throughput of one GPU and what its iteration took over what data sheets say.
struct Point {
  std::string set;
  std::string network;
  double ratio = 1;
  DType dtype = DType::f32;
  FlopsPerSecond peak;
  BytesPerSecond memory;
  int batch = 1;
};

/// In what a precision of the cases is computed; nothing of one that is not known here.
std::optional<DType> dtype_of(const std::string& precision) {
  const std::map<std::string, DType> known{{"fp32", DType::f32},  {"tf32", DType::tf32},
                                           {"fp16", DType::f16},  {"mixed-fp16", DType::f16},
                                           {"bf16", DType::bf16}, {"mixed-bf16", DType::bf16}};
  const auto found = known.find(precision);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Network> known_networks() {
  std::vector<Network> networks;
  for (const char* name : {"alexnet", "alexnet_owt", "googlenet", "overfeat", "resnet50",
                           "resnet152", "vgg11", "vgg16", "vgg19"}) {
    networks.push_back(load_network(name));
  }
  return networks;
}

const Network* network_of(const cases::ScalingCase& training,
                          const std::vector<Network>& networks) {
  for (const Network& one : networks) {
    if (one.parameter_count() == training.network.parameters) return &one;
  }
  return nullptr;
}

/// One GPU of unlimited memory and known peaks alone, whose input costs nothing.
std::optional<Cluster> cluster_of(const DeviceSheet& sheet, DType dtype) {
  Cluster cluster = load_cluster("p40x16");
  cluster.device = nominal_device(sheet, cluster.device.launch);
  cluster.device.units.reset();  // at full peak
  cluster.device.memory = {};
  cluster.host.decode = {};
  cluster.storage = {};
  if (!cluster.device.peak.contains(dtype)) return std::nullopt;
  if (dtype == DType::f32 && cluster.device.peak.contains(DType::tf32)) return std::nullopt;
  return cluster;
}

Seconds by_data_sheet(const Network& network, const Cluster& cluster, DType dtype, int batch) {
  dlscale::Run run;
  run.network = network.name();
  run.cluster = cluster.name;
  run.dtype = dtype;
  run.batch = batch;
  run.input_copy = InputCopy::ahead;
  run.normalisation = Normalisation::device;
  const int ranks[] = {1};
  return predict(network, nominal_machine(cluster), run, ranks).front().time.total;
}

/// Each throughput once, however many trainings on more GPUs it is given with.
std::vector<Point> published_points(const cases::CaseFile& open) {
  const DeviceCatalogue devices = DeviceCatalogue::load();
  const std::vector<Network> networks = known_networks();
  std::set<std::tuple<std::string, std::string, std::string, std::string, double, double>> met;
  std::map<std::tuple<std::string, std::string, DType, int>, Seconds> known;
  std::vector<Point> points;
  for (const cases::ScalingCase& training : open.trainings) {
    const Network* network = network_of(training, networks);
    const DeviceSheet* sheet = devices.find(training.cluster.gpu);
    const auto dtype = dtype_of(training.precision);
    if (network == nullptr || sheet == nullptr || !dtype) continue;
    const auto cluster = cluster_of(*sheet, *dtype);
    if (!cluster) continue;
    for (const cases::GivenPoint& given : training.given) {
      if (given.gpus != 1) continue;
      if (!met.insert({training.set, network->name(), sheet->id, training.precision,
                       given.batch_per_gpu, given.throughput.si()})
               .second) {
        continue;
      }
      const int batch = static_cast<int>(given.batch_per_gpu);
      Seconds& sheet_time = known[{network->name(), sheet->id, *dtype, batch}];
      if (sheet_time == Seconds()) sheet_time = by_data_sheet(*network, *cluster, *dtype, batch);
      points.push_back({training.set, network->name(), given.iteration() / sheet_time, *dtype,
                        cluster->device.peak.at(*dtype), cluster->device.memory_bandwidth, batch});
    }
  }
  return points;
}

/// Every set and network counts alike.
std::vector<Weighted> weighted(const std::vector<Point>& points) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const Point& one : points) ++counts[{one.set, one.network}];
  std::vector<Weighted> result;
  for (const Point& one : points) {
    result.push_back({one.ratio, 1.0 / counts[{one.set, one.network}]});
  }
  return result;
}

/// Of a set, by the range of the others; of all sets and networks alike.
double covered_left_out(const std::vector<Point>& points) {
  std::set<std::string> sets;
  for (const Point& one : points) sets.insert(one.set);
  const std::vector<Weighted> weights = weighted(points);
  double covered = 0;
  double all = 0;
  for (const std::string& left_out : sets) {
    std::vector<Point> others;
    for (const Point& one : points) {
      if (one.set != left_out) others.push_back(one);
    }
    const double low = scaling::weighted_quantile(weighted(others), 0.05);
    const double high = scaling::weighted_quantile(weighted(others), 0.95);
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (points[i].set != left_out) continue;
      all += weights[i].weight;
      if (low <= points[i].ratio && points[i].ratio <= high) covered += weights[i].weight;
    }
  }
  return covered / all;
}

/// In that precision.
ComputingEvidence evidence_of(const std::vector<Point>& points, DType dtype) {
  ComputingEvidence found{dtype, FlopsPerSecond(1e30), {}, BytesPerSecond(1e30), {}, 1'000'000};
  for (const Point& one : points) {
    if (one.dtype != dtype) continue;
    found.least_peak = std::min(found.least_peak, one.peak);
    found.most_peak = std::max(found.most_peak, one.peak);
    found.least_memory = std::min(found.least_memory, one.memory);
    found.most_memory = std::max(found.most_memory, one.memory);
    found.least_batch = std::min(found.least_batch, one.batch);
  }
  return found;
}

void expect_evidence(const std::vector<Point>& points) {
  std::set<DType> dtypes;
  for (const Point& one : points) dtypes.insert(one.dtype);
  EXPECT_EQ(dtypes.size(), computing_evidence.size());
  for (const ComputingEvidence& said : computing_evidence) {
    const ComputingEvidence found = evidence_of(points, said.dtype);
    SCOPED_TRACE(dtype_name(said.dtype));
    EXPECT_DOUBLE_EQ(found.least_peak.si(), said.least_peak.si());
    EXPECT_DOUBLE_EQ(found.most_peak.si(), said.most_peak.si());
    EXPECT_DOUBLE_EQ(found.least_memory.si(), said.least_memory.si());
    EXPECT_DOUBLE_EQ(found.most_memory.si(), said.most_memory.si());
    EXPECT_EQ(found.least_batch, said.least_batch);
  }
}

TEST(DataSheetShares, AreThoseOfPublishedTrainingsOnOneGpu) {
  const auto file = std::filesystem::path(DLSCALE_SHARED_DATA) / "validation" / "open.jsonl";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const std::vector<Point> points = published_points(cases::read_cases(file));
  std::set<std::string> sets;
  std::set<std::pair<std::string, std::string>> groups;
  for (const Point& one : points) {
    sets.insert(one.set);
    groups.insert({one.set, one.network});
  }
  const std::vector<Weighted> ratios = weighted(points);
  const ComputingShares& said = computing_shares;
  EXPECT_EQ(static_cast<int>(points.size()), said.points);
  EXPECT_EQ(static_cast<int>(groups.size()), said.groups);
  EXPECT_EQ(static_cast<int>(sets.size()), said.sets);
  constexpr double as_printed = 0.005;
  EXPECT_NEAR(scaling::weighted_quantile(ratios, 0.05), said.range.low, as_printed);
  EXPECT_NEAR(scaling::weighted_quantile(ratios, 0.5), said.median, as_printed);
  EXPECT_NEAR(scaling::weighted_quantile(ratios, 0.95), said.range.high, as_printed);
  EXPECT_NEAR(covered_left_out(points), said.covered_left_out, as_printed);
  expect_evidence(points);
}

}  // namespace
}  // namespace dlscale::model
