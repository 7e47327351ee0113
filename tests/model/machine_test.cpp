#include "model/machine/machine.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/communication/fit_algorithm.hpp"
#include "tests/core/full_disk.hpp"
#include "tests/core/support.hpp"
#include "tests/model/synthetic_messages.hpp"

namespace dlscale::model {
namespace {

Machine machine_sample() {
  auto results = synthetic::results(synthetic::branched(), 8);
  Machine machine = calibrate(synthetic::two_workers(), results);
  machine.cluster.device.peak[DType::f32] = FlopsPerSecond(1.25e11);
  machine.cluster.doc = "quotes \" and ümlauts";
  machine.cluster.storage.shared_by_nodes = true;
  machine.cluster.nccl = NcclFacts{NcclFacts::Gpu::blackwell,
                                   NcclFacts::Fabric::nvlink,
                                   NcclFacts::Processor::other,
                                   12.5_GBps,
                                   4,
                                   6.25_GBps,
                                   "a source"};
  machine.cluster.all_reduce = AllReduceRule::nccl;
  machine.memory_bandwidth["copy"] = {BytesPerSecond(1.0 / 3), BytesPerSecond(0.1),
                                      BytesPerSecond(1)};
  return machine;
}

AlgorithmFit rings_between_hosts() {
  MessageFamily family = synthetic::all_reduces(
      {{2, 1}, {4, 1}}, synthetic::powers(64, 1 << 24), [](const Placement& layout, double bytes) {
        return synthetic::ring_seconds(layout.ranks, bytes);
      });
  family.algorithm = "ring";
  return fit_algorithm(family).value();
}

std::string machine_failure(const std::string& text) {
  return test::config_error([&] { machine_from_json(text, "m.json"); });
}

std::string machine_with(const std::string& from, const std::string& to) {
  std::string text = machine_json(machine_sample());
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(MachineJson, RefusesANetworkThatCarriesNothing) {
  const std::string whole = machine_json(nominal_machine(load_cluster("v100x16_ib100")));
  const std::string stated = "\"efficiency\": 1.0";
  std::string text = whole;
  const auto at = text.find(stated);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, stated.size(), "\"efficiency\": 1e-308");
  EXPECT_NO_THROW(machine_from_json(whole, "m.json"));
  test::expect_contains(machine_failure(text), "is out of [0.000001, 1]");
}

TEST(MachineJson, KnowsTheRuleOfAllReduceByItsWord) {
  test::expect_contains(machine_failure(machine_with("\"blackwell\"", "\"kepler\"")),
                        "/cluster/nccl/gpu");
  test::expect_contains(
      machine_failure(machine_with("\"all_reduce\": \"nccl\"", "\"all_reduce\": \"tree\"")),
      "hierarchical");
}

TEST(MachineJson, SurvivesARoundTripToTheLastBit) {
  const std::string text = machine_json(machine_sample());
  EXPECT_EQ(machine_json(machine_from_json(text, "m.json")), text);
  const Machine read = machine_from_json(text, "m.json");
  EXPECT_EQ(read.memory_bandwidth.at("copy").value.si(), 1.0 / 3);
  EXPECT_EQ(read.kernels.size(), machine_sample().kernels.size());
  EXPECT_EQ(read.cluster.doc, "quotes \" and ümlauts");
}

TEST(MachineJson, NamesTheDataSheetOfItsDevice) {
  const std::string text = machine_json(nominal_machine(load_cluster("dgx_h100")));
  EXPECT_EQ(machine_from_json(text, "m.json").cluster.device.sheet, "h100_sxm5_80gb");
  const std::string of_none = machine_json(nominal_machine(load_cluster("frontera")));
  EXPECT_EQ(of_none.find("\"sheet\""), std::string::npos);
}

TEST(MachineJson, KeepsTheClosedFormsOfAlgorithms) {
  Machine machine = machine_sample();
  std::vector<Measurement> rows;
  for (const int ranks : {2, 4}) {
    for (const double bytes : synthetic::powers(64, 1 << 24)) {
      rows.push_back(synthetic::message_row("all_reduce", ranks, ranks, bytes,
                                            synthetic::ring_seconds(ranks, bytes)));
      rows.back().axes["algorithm"] = "ring";
    }
  }
  const std::vector<ResultFile> files{synthetic::file("ring.jsonl", rows)};
  machine.algorithms = calibrate(machine.cluster, files).algorithms;
  ASSERT_EQ(machine.algorithms.size(), 1U);
  ASSERT_EQ(machine.algorithms.front().ranges.size(), 2U);
  ASSERT_TRUE(machine.algorithms.front().foresight);
  const std::string text = machine_json(machine);
  const Machine read = machine_from_json(text, "m.json");
  EXPECT_EQ(machine_json(read), text);
  const Placement eight{8, 8};
  for (const double bytes : {1e3, 1e6}) {
    const auto before = predict_message(machine.algorithms.front(), eight, Bytes(bytes))->time;
    const auto after = predict_message(read.algorithms.front(), eight, Bytes(bytes))->time;
    EXPECT_EQ(after.value, before.value);
    EXPECT_EQ(after.low, before.low);
    EXPECT_EQ(after.high, before.high);
  }
  auto json = nlohmann::json::parse(text);
  ASSERT_EQ(json["algorithms"][0].erase("foresight"), 1U);  // as in files of earlier versions
  for (auto& range : json["algorithms"][0]["ranges"]) ASSERT_EQ(range.erase("spread_si"), 1U);
  for (auto& layout : json["algorithms"][0]["layouts"]) {
    for (auto& segment : layout["segments"]) ASSERT_EQ(segment.erase("spread"), 1U);
  }
  const AlgorithmFit older = machine_from_json(json.dump(), "m.json").algorithms.front();
  EXPECT_FALSE(older.foresight);
  EXPECT_EQ(predict_message(older, eight, Bytes(1e6))->time.value,
            predict_message(machine.algorithms.front(), eight, Bytes(1e6))->time.value);
  json["algorithms"][0]["chosen_by"] = "fate";
  test::expect_contains(machine_failure(json.dump()), "m.json: /algorithms/0/chosen_by");
  ASSERT_EQ(json.erase("algorithms"), 1U);
  EXPECT_TRUE(machine_from_json(json.dump(), "m.json").algorithms.empty());
}

TEST(MachineJson, KeepsWhatTravelsBothWaysSharedCoresAndRatios) {
  Machine machine = machine_sample();
  machine.algorithms = {rings_between_hosts()};
  const std::string text = machine_json(machine);
  EXPECT_EQ(text.find("two_way"), std::string::npos);  // as earlier versions wrote
  EXPECT_EQ(text.find("shared_cores"), std::string::npos);
  AlgorithmFit& fit = machine.algorithms.front();
  fit.carrier.cores = 2;
  fit.carrier.two_way = true;
  fit.ranges.front().both_ways = {SecondsPerByte(2e-9), SecondsPerByte(1e-9), SecondsPerByte(3e-9)};
  fit.layouts.front().ratios = form_ratios({{Bytes(64), -0.25}, {Bytes(256), 0.5}});
  const std::string both = machine_json(machine);
  const Machine read = machine_from_json(both, "m.json");
  EXPECT_EQ(machine_json(read), both);
  const AlgorithmFit& again = read.algorithms.front();
  for (const Placement& layout : {fit.layouts.front().layout, Placement{8, 1}}) {
    const auto before = predict_message(fit, layout, Bytes(1e6));
    const auto after = predict_message(again, layout, Bytes(1e6));
    ASSERT_TRUE(before && after);
    EXPECT_EQ(after->time.value, before->time.value);
    EXPECT_EQ(after->time.high, before->time.high);
  }
}

TEST(MachineJson, ReadsSpreadsOfFilesWithoutWhatTravelsBothWays) {
  Machine machine = machine_sample();
  machine.algorithms = {rings_between_hosts()};
  auto json = nlohmann::json::parse(machine_json(machine));
  for (auto& range : json["algorithms"][0]["ranges"]) {
    auto& spread = range["spread_si"];
    ASSERT_EQ(spread.size(), 5U);
    spread.erase(4);
    for (auto& row : spread) row.erase(4);
  }
  const AlgorithmFit read = machine_from_json(json.dump(), "m.json").algorithms.front();
  const Placement eight{8, 1};
  EXPECT_EQ(predict_message(read, eight, Bytes(1e6))->time.high,
            predict_message(machine.algorithms.front(), eight, Bytes(1e6))->time.high);
  json["algorithms"][0]["ranges"][0]["spread_si"].erase(3);
  test::expect_contains(machine_failure(json.dump()), "spread_si has neither 4 nor 5 rows");
}

TEST(MachineJson, RemembersWhatItWasFittedToAndLoadsWithoutIt) {
  Machine machine = machine_sample();
  machine.measured_on = {"a CPU", "0123", "onednn", {{"oneDNN", "2.6.0"}}};
  auto json = nlohmann::json::parse(machine_json(machine));
  const MeasuredOn read = machine_from_json(json.dump(), "m.json").measured_on;
  EXPECT_EQ(read.cpu, "a CPU");
  EXPECT_EQ(read.host_hash, "0123");
  EXPECT_EQ(read.backend, "onednn");
  EXPECT_EQ(read.libraries, machine.measured_on.libraries);
  EXPECT_EQ(read.links, "");
  EXPECT_FALSE(json.at("measured_on").contains("links"));  // as earlier versions wrote
  machine.measured_on.links = "links of 1Gb/s";
  EXPECT_EQ(machine_from_json(machine_json(machine), "m.json").measured_on.links, "links of 1Gb/s");
  ASSERT_EQ(json.erase("measured_on"), 1U);
  const MeasuredOn unknown = machine_from_json(json.dump(), "m.json").measured_on;
  EXPECT_EQ(unknown.cpu, "unknown");
  EXPECT_EQ(unknown.host_hash, "unknown");
  EXPECT_EQ(unknown.backend, "unknown");
  EXPECT_TRUE(unknown.libraries.empty());
  json["measured_on"] = {{"cpu", "a CPU"}};
  test::expect_contains(machine_failure(json.dump()), "m.json: /measured_on");
}

TEST(MachineJson, HasTheUnitInEveryKey) {
  const std::string text = machine_json(machine_sample());
  for (const char* key : {"\"time_s\"", "\"alpha_s\"", "\"beta_s_per_byte\"", "\"from_bytes\"",
                          "\"memory_bandwidth_bytes_per_s\"", "\"peak_flops_per_s\""}) {
    test::expect_contains(text, key);
  }
}

TEST(MachineJson, NamesTheFileAndThePlaceOfAnError) {
  test::expect_contains(machine_failure(machine_with("\"nodes\": 1", "\"nodes\": \"one\"")),
                        "m.json: /cluster/nodes");
  test::expect_contains(machine_failure(machine_with("\"nodes\": 1", "\"nodes\": 0")), "out of");
  test::expect_contains(machine_failure(machine_with("\"nodes\": 1", "\"nodes\": 1e400")),
                        "m.json");
  test::expect_contains(machine_failure(machine_with("\"nodes\": 1", "\"nods\": 1")), "nodes");
}

TEST(MachineJson, RefusesUnknownDoubleAndMissingKeys) {
  test::expect_contains(
      machine_failure(machine_with("\"fitted\": true", "\"fitted\": true, \"x\": 1")), "\"x\"");
  test::expect_contains(
      machine_failure(machine_with("\"fitted\": true", "\"fitted\": true, \"fitted\": false")),
      "twice");
  test::expect_contains(machine_failure(machine_with("\"fitted\": true,", "")), "fitted");
}

TEST(MachineJson, RefusesOtherSchemasAndVersions) {
  EXPECT_NE(machine_failure(machine_with("dlscale.machine", "dlscale.result")), "");
  test::expect_contains(machine_failure(machine_with("\"version\": 1", "\"version\": 2")),
                        "version");
}

TEST(MachineJson, RefusesImpossibleValues) {
  test::expect_contains(
      machine_failure(machine_with("\"pass\": \"forward\"", "\"pass\": \"sideways\"")), "sideways");
  EXPECT_NE(machine_failure(machine_with("\"low\": ", "\"low\": 1e300, \"was\": ")), "");
  test::expect_contains(machine_failure(machine_with("\"latency_s\": 0.0", "\"latency_s\": -1.0")),
                        "latency_s");
  test::expect_contains(
      machine_failure(machine_with("\"segments\": [", "\"segments\": [], \"x\": [")), "segments");
}

TEST(MachineJson, RefusesWhatIsNotJson) {
  for (const std::string text :
       {"", "{", "[]", "null", "7", "\"text\"", "{\"schema\": NaN}", "\xff\xfe", "{\"a\": 1} x"}) {
    EXPECT_NE(machine_failure(text), "") << text;
  }
  EXPECT_NE(machine_failure(std::string(100000, '[')), "");
}

TEST(MachineJson, SurvivesTruncationAnywhere) {
  const std::string text = machine_json(machine_sample());
  for (std::size_t length = 0; length < text.size(); length += 997) {
    EXPECT_NE(machine_failure(text.substr(0, length)), "") << length;
  }
}

TEST(MachineFile, KeepsAMachine) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "machine.json";
  save_machine(path, machine_sample());
  EXPECT_EQ(machine_json(load_machine(path)), machine_json(machine_sample()));
}

TEST(MachineFile, SaysWhenAMachineCannotBeReadOrWritten) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(load_machine(folder.path() / "none.json"), ConfigError);
  EXPECT_THROW(load_machine(folder.path()), ConfigError);
  EXPECT_THROW(save_machine(folder.path() / "no" / "such" / "folder.json", machine_sample()),
               ConfigError);
}

TEST(MachineFile, KeepsTheOldMachineWhenTheNewOneCannotBeWritten) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "machine.json";
  save_machine(path, machine_sample());
  {
    const test::NoRoomForFiles full(1000);
    EXPECT_THROW(save_machine(path, machine_sample()), ConfigError);
  }
  EXPECT_NO_THROW(load_machine(path));
}

TEST(Piecewise, ExtendsTheNearestSegment) {
  Segment small{Bytes(10), Bytes(100), Estimate<Seconds>::exact(Seconds(1)), {}, 0, 3};
  Segment large{Bytes(100), Bytes(1000), {}, Estimate<SecondsPerByte>::exact(SecondsPerByte(1)), 0,
                3};
  const Piecewise cost({small, large});
  EXPECT_EQ(cost.time(Bytes(1)).value.si(), 1);
  EXPECT_EQ(cost.time(Bytes(99)).value.si(), 1);
  EXPECT_EQ(cost.time(Bytes(100)).value.si(), 100);
  EXPECT_EQ(cost.time(Bytes(5000)).value.si(), 5000);
  EXPECT_FALSE(cost.covers(Bytes(9)));
  EXPECT_TRUE(cost.covers(Bytes(10)));
  EXPECT_TRUE(cost.covers(Bytes(1000)));
  EXPECT_FALSE(cost.covers(Bytes(1001)));
  EXPECT_THROW(Piecewise({large, small}), ConfigError);
  EXPECT_THROW(Piecewise(std::vector<Segment>{}), ConfigError);
}

TEST(NominalMachine, RefusesAClusterWithoutADataSheet) {
  EXPECT_THROW(nominal_machine(synthetic::two_workers()), ConfigError);
}

TEST(NominalMachine, SaysItIsNotFitted) {
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  EXPECT_FALSE(machine.fitted);
  EXPECT_EQ(machine_json(machine_from_json(machine_json(machine), "m")), machine_json(machine));
}

}  // namespace
}  // namespace dlscale::model
