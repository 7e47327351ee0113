#include "model/published/scaling/time/scaled_time.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/model/scaling/trainings.hpp"

namespace dlscale::model::scaling {
namespace {

using cases::Overlap;
using cases::Synchronisation;

double seconds(const TrainingFacts& facts, const Parameters& parameters = Parameters::prior()) {
  return ScalingModel(facts).time(parameters).total.si();
}

Parameters with(Parameter parameter, double value) {
  Parameters parameters = Parameters::prior();
  parameters.values[static_cast<std::size_t>(parameter)] = value;
  return parameters;
}

TrainingFacts with_overlap(TrainingFacts facts, Overlap overlap) {
  facts.overlap = overlap;
  return facts;
}

TrainingFacts by_servers(TrainingFacts facts) {
  facts.synchronisation = Synchronisation::parameter_server;
  facts.overlap = Overlap::unknown;
  return facts;
}

/// One of each kind that the model tells apart.
std::vector<TrainingFacts> many() {
  std::vector<TrainingFacts> all;
  for (const auto& [nodes, each] : {std::pair{1, 2}, {1, 8}, {4, 4}, {16, 8}}) {
    for (const Overlap overlap : {Overlap::none, Overlap::wfbp, Overlap::bucketed, Overlap::merged,
                                  Overlap::scheduled, Overlap::unknown, Overlap::other}) {
      all.push_back(on_ethernet(nodes, each, overlap));
      all.push_back(with_overlap(training(nodes, each), overlap));
    }
    all.push_back(by_servers(training(nodes, each)));
    all.push_back(by_servers(on_ethernet(nodes, each, Overlap::none)));
    all.push_back(training(nodes, each));
    all.back().given_computes_only = true;
    all.back().sample = Bytes(602112);
    all.push_back(training(nodes, each));
    all.back().framework.rings_only = true;
    all.back().framework.over_host = true;
    all.push_back(on_ethernet(nodes, each, Overlap::unknown));
    all.back().framework.packs_all = true;
    all.back().framework.over_sockets = true;
    all.push_back(training(nodes, each));
    all.back().uneven_samples = true;
    all.back().batch = 8;
    all.back().framework.eager = true;
    all.push_back(on_ethernet(nodes, each, Overlap::bucketed));
    all.back().batch = 256;
    all.back().framework.graphs = true;
    all.push_back(training(nodes, each));
    all.back().given = {4, 1, 4};
    all.push_back(on_ethernet(nodes, each, Overlap::wfbp));
    all.back().given = {8, 2, 4};
  }
  return all;
}

/// Constants that are next to nothing, but for these.
Parameters only(const std::vector<std::pair<Parameter, double>>& these) {
  Parameters parameters;
  parameters.values.fill(1e-15);
  parameters.values[static_cast<std::size_t>(Parameter::socket_rate)] = 1e30;
  for (const auto& [which, value] : these) {
    parameters.values[static_cast<std::size_t>(which)] = value;
  }
  return parameters;
}

constexpr double same = 1e-9;  // relative: what is next to nothing still counts

TEST(ScaledTime, OfASequentialRunOnANodeIsARing) {
  TrainingFacts facts = with_overlap(training(1, 8), Overlap::none);
  facts.node_fabric = NodeFabric::switched;
  facts.node_bandwidth = 300.0_GBps;
  const Parameters parameters =
      only({{Parameter::nvlink_efficiency, 0.5}, {Parameter::local_latency, 1e-6}});
  // 0.2 s, 14/8 of 102.4 MB at 150 GB/s, 16 starts (a tree has 28).
  EXPECT_NEAR(seconds(facts, parameters), 0.2 + 1.75 * 0.1024 / 150 + 16e-6, same);
}

TEST(ScaledTime, OfASequentialRunOnNodesPassesTwoLinks) {
  TrainingFacts facts = on_ethernet(4, 2, Overlap::none);
  const Parameters parameters = only({{Parameter::pcie_efficiency, 0.4},
                                      {Parameter::pcie_growth, 0.5},
                                      {Parameter::line_efficiency, 0.8},
                                      {Parameter::card_efficiency, 1e6},
                                      {Parameter::tcp_latency, 1e-4},
                                      {Parameter::negotiation, 1e-3}});
  const double local = 1.75 * 0.1024 / (0.4 * 15.75);
  const double remote = 1.75 * 0.1024 / (0.8 * 1.25);
  const double transfer = std::cbrt(std::pow(local, 3) + std::pow(remote, 3));
  // 8 starts around the ring and by the tree, 4 lg 4; one agreement.
  EXPECT_NEAR(seconds(facts, parameters), 0.2 + transfer + 8e-4 + 1e-3, same);
}

TEST(ScaledTime, OfTensorsOneByOneIsAFlowShop) {
  TrainingFacts facts = on_ethernet(2, 1, Overlap::wfbp);
  facts.framework.coordinator = false;
  facts.given_iteration = Seconds(0.3);  // of which backward takes 0.2
  // Ready after 0.05 s and 0.2 s; 80 ms each on the link, of which the second is exposed.
  facts.profile.tensors = {{1, 0.25}, {1, 1.0}};
  facts.parameters = 2;
  facts.gradient = Bytes(0.16e9);
  const Parameters line = only({{Parameter::line_efficiency, 0.8},
                                {Parameter::card_efficiency, 1e6},
                                {Parameter::pcie_efficiency, 1e6}});
  EXPECT_NEAR(seconds(facts, line), 0.3 + 0.08, same);
  Parameters competing = line;  // computing loses half of the 80 ms that are hidden
  competing.values[static_cast<std::size_t>(Parameter::interference)] = 0.5;
  EXPECT_NEAR(seconds(facts, competing), 0.3 + 0.08 + 0.04, same);
  facts.profile.tensors = {{1, 0.5}, {3, 0.75}};  // 40 ms from 0.1 s on, 120 ms from 0.15 s on
  EXPECT_NEAR(seconds(facts, line), 0.3 + 0.07, same);
}

TEST(ScaledTime, OfServersIsWhatTheNextForwardPassDoesNotHide) {
  TrainingFacts facts = by_servers(on_ethernet(2, 1, Overlap::unknown));
  facts.framework.node_sum = NodeSum::ring;  // nothing to add on one GPU
  const Parameters parameters = only({{Parameter::line_efficiency, 0.8},
                                      {Parameter::card_efficiency, 1e6},
                                      {Parameter::pcie_efficiency, 1e6},
                                      {Parameter::server_efficiency, 0.5}});
  // 102.4 MB at 0.5 GB/s, more than the 0.2 s of computing by 4.8 ms.
  const ScaledTime time = ScalingModel(facts).time(parameters);
  EXPECT_NEAR(time.total.si(), 0.2 + 0.0048, same);
  EXPECT_NEAR(time.in_doubt.si(), 0.2, same);  // of these nothing may be hidden
}

TEST(ScaledTime, ServersExposeWhatTheOverlapLeaves) {
  const Parameters parameters = only({{Parameter::line_efficiency, 1},
                                      {Parameter::card_efficiency, 1e6},
                                      {Parameter::pcie_efficiency, 1e6},
                                      {Parameter::server_efficiency, 1},
                                      {Parameter::interference, 0.5}});
  const auto total = [&](Overlap overlap, bool eager) {
    TrainingFacts facts = by_servers(on_ethernet(2, 1, overlap));
    facts.framework.node_sum = NodeSum::ring;  // nothing to add on one GPU
    facts.overlap = overlap;
    facts.framework.eager = eager;
    facts.profile.tensors = {{0.5 * facts.parameters, 0.5}, {0.5 * facts.parameters, 1}};
    return ScalingModel(facts).time(parameters).total.si();
  };
  const double all = 102.4e6 / 1.25e9;
  EXPECT_NEAR(total(Overlap::none, true), 0.2 + all, same);
  EXPECT_NEAR(total(Overlap::none, false), 0.2 + all, same);
  // Tensor by tensor beside backward, which the first half of the bytes fits into.
  EXPECT_NEAR(total(Overlap::wfbp, true), 0.2 + all / 2, same);
  EXPECT_NEAR(total(Overlap::scheduled, true), 0.2 + all / 2, same);
  // Of graphs, beside the next forward pass, too: of two tensors one shows.
  EXPECT_NEAR(total(Overlap::wfbp, false), 0.2 + all / 2 + 0.5 * all / 2, same);
}

TEST(ScaledTime, IsSlowerWithSlowerMessagesWhereTheyShow) {
  const TrainingFacts facts = on_ethernet(4, 4, Overlap::none);
  const ScalingModel model(facts);
  const ScaledTime time = model.judged(Parameters::prior());
  EXPECT_EQ(model.time(Parameters::prior()).total, time.total);
  EXPECT_NEAR((time.slower - time.total).si(), time.transfer.si(), same);
  EXPECT_EQ(model.time(Parameters::prior()).slower, Seconds());
}

TEST(ScaledTime, OfAnUntoldOverlapLiesBetweenNoneAndSome) {
  const TrainingFacts unknown = on_ethernet(4, 2, Overlap::unknown);
  const double none = seconds(with_overlap(unknown, Overlap::none));
  const double some = seconds(with_overlap(unknown, Overlap::bucketed));
  const Parameters prior = Parameters::prior();
  const ScaledTime time = ScalingModel(unknown).time(prior);
  EXPECT_GT(time.total.si(), some);
  EXPECT_LT(time.total.si(), none);
  EXPECT_NEAR(time.in_doubt.si(), none - some, 0.05 * none);
  EXPECT_EQ(ScalingModel(with_overlap(unknown, Overlap::wfbp)).time(prior).in_doubt, Seconds());
}

TEST(ScaledTime, OfAnotherBatchKeepsUpdateAndLaunches) {
  TrainingFacts facts = training(1, 1);
  facts.batch = 16;
  facts.framework.eager = true;
  const Parameters parameters = only(
      {{Parameter::update_passes, 9}, {Parameter::launch, 0.004}, {Parameter::eager_launch, 0.01}});
  const double fixed = 9 * 0.1024 / 900 + 0.014;
  EXPECT_NEAR(seconds(facts, parameters), fixed + (0.2 - fixed) / 4, same);
}

TEST(ScaledTime, OfComputingAloneLacksUpdateAndInput) {
  TrainingFacts facts = training(1, 1);
  facts.given_computes_only = true;
  facts.framework.eager = true;
  facts.sample = Bytes(602112);
  const Parameters parameters = only({{Parameter::update_passes, 9},
                                      {Parameter::eager_launch, 0.01},
                                      {Parameter::pcie_efficiency, 0.4}});
  const double lacking = 9 * 0.1024 / 900 + 0.01 + 64 * 602112 / (0.4 * 15.75e9);
  const ScaledTime alone = ScalingModel(facts).time(parameters);
  EXPECT_NEAR(alone.host.si(), lacking, same);
  EXPECT_NEAR(alone.total.si(), 0.2 + lacking, same);
  EXPECT_EQ(alone.differs, 1);  // even on the GPU that was given
}

TEST(ScaledTime, TakesComputingFromAPointOfSeveralGpus) {
  TrainingFacts facts = with_overlap(training(1, 8), Overlap::none);
  facts.given = {2, 1, 2};
  const Parameters parameters = only({{Parameter::nvlink_efficiency, 0.5}});
  const double given = 0.1024 / (0.5 * 150.0 / 3);
  const double asked = 1.75 * 0.1024 / (0.5 * 150.0);
  EXPECT_NEAR(seconds(facts, parameters), 0.2 - given + asked, same);
}

void expect_parts(const ScaledTime& time) {
  EXPECT_GT(time.compute, Seconds());
  EXPECT_TRUE(std::isfinite(time.total.si()));
  for (const Seconds part : {time.transfer, time.interference, time.copies, time.waiting, time.host,
                             time.communication}) {
    EXPECT_GE(part, Seconds());
    EXPECT_TRUE(std::isfinite(part.si()));
  }
  const Seconds sum =
      time.compute + time.transfer + time.interference + time.copies + time.waiting + time.host;
  EXPECT_NEAR(sum / time.total, 1, 1e-12);
  EXPECT_GE(time.overhead, 0);
  EXPECT_LE(time.overhead, 0.95);
}

TEST(ScaledTime, PartsArePositiveAndAddUp) {
  // Far from the prior, too, where a fit may pass.
  for (const double factor : {0.125, 1.0, 8.0}) {
    Parameters parameters = Parameters::prior();
    for (double& value : parameters.values) value *= factor;
    for (const TrainingFacts& facts : many()) expect_parts(ScalingModel(facts).time(parameters));
  }
}

TEST(ScaledTime, OneGpuComputesOnly) {
  TrainingFacts facts = training(1, 1);
  const ScaledTime time = ScalingModel(facts).time(Parameters::prior());
  EXPECT_DOUBLE_EQ(time.total.si(), 0.2);
  EXPECT_DOUBLE_EQ(time.compute.si(), 0.2);
  EXPECT_EQ(time.communication, Seconds());
  EXPECT_EQ(time.overhead, 0);
  facts.batch = 32;
  EXPECT_GT(seconds(facts), 0.1);  // the update and launches stay
  EXPECT_LT(seconds(facts), 0.2);
}

TEST(ScaledTime, OfTheGivenPointIsTheGivenTime) {
  for (TrainingFacts facts : many()) {
    if (facts.given_computes_only) continue;
    facts.batch = facts.given_batch;
    facts.given = facts.asked;
    for (const double given : {5.0, 0.2, 0.001}) {  // of the shortest most is communication
      facts.given_iteration = Seconds(given);
      const ScaledTime time = ScalingModel(facts).time(Parameters::prior());
      EXPECT_NEAR(time.total.si() / given, 1, 1e-9);
      EXPECT_EQ(time.differs, 0);
    }
  }
}

TEST(ScaledTime, DiffersFromTheGivenPointByDoublings) {
  const auto differs = [](int gpus, double batch) {
    TrainingFacts facts = training(1, gpus);
    facts.given = {4, 1, 4};
    facts.batch = batch;
    return ScalingModel(facts).time(Parameters::prior()).differs;
  };
  EXPECT_EQ(differs(4, 64), 0);
  EXPECT_NEAR(differs(5, 64), std::log2(1.25), 1e-12);
  EXPECT_NEAR(differs(4, 48), std::log2(4.0 / 3), 1e-12);
  EXPECT_EQ(differs(8, 64), 1);
  EXPECT_EQ(differs(2, 64), 1);
  EXPECT_EQ(differs(8, 8), 1);
}

TEST(ScaledTime, ComputingTakesAtLeastAFifthOfTheGivenTime) {
  TrainingFacts facts = on_ethernet(8, 4, Overlap::none);
  facts.given = facts.asked;
  facts.given_iteration = Seconds(0.02);
  EXPECT_DOUBLE_EQ(ScalingModel(facts).time(Parameters::prior()).compute.si(), 0.004);
}

TEST(ScaledTime, FallsWithBandwidthAndRisesWithGradients) {
  for (const TrainingFacts& facts : many()) {
    if (facts.given.gpus > 1) continue;  // there less of the given time would be computing
    const double time = seconds(facts);
    TrainingFacts faster = facts;
    faster.node_bandwidth = 1.5 * facts.node_bandwidth;
    faster.cluster_bandwidth = 1.5 * facts.cluster_bandwidth;
    TrainingFacts larger = facts;
    larger.gradient = 1.5 * facts.gradient;
    larger.framework.bucket = 1.5 * facts.framework.bucket;  // that messages stay as many
    larger.framework.first_bucket = 1.5 * facts.framework.first_bucket;
    EXPECT_LE(seconds(faster), time * (1 + 1e-12));
    EXPECT_GT(seconds(larger), time);
  }
}

TEST(ScaledTime, MoreOverlapIsNoSlower) {
  // Apart from what messages cost computing beside them, which a sequential run is without.
  for (const auto& [nodes, each] : {std::pair{1, 4}, {2, 4}, {8, 4}}) {
    Parameters parameters = with(Parameter::interference, 1e-9);
    parameters.values[static_cast<std::size_t>(Parameter::jitter)] = 1e-9;
    // One start costs what all tensors' starts do.
    for (const Parameter start :
         {Parameter::negotiation, Parameter::tcp_latency, Parameter::local_latency}) {
      parameters.values[static_cast<std::size_t>(start)] = 1e-12;
    }
    const double none = seconds(on_ethernet(nodes, each, Overlap::none), parameters);
    const double wfbp = seconds(on_ethernet(nodes, each, Overlap::wfbp), parameters);
    const double merged = seconds(on_ethernet(nodes, each, Overlap::merged), parameters);
    EXPECT_LT(wfbp, none);
    EXPECT_LE(merged, wfbp * (1 + 1e-12));
    EXPECT_GT(merged, 0.2);
  }
}

TEST(ScaledTime, MergingNeverLosesToTensorsOneByOne) {
  for (const int nodes : {1, 2, 8, 32}) {
    EXPECT_LE(seconds(on_ethernet(nodes, 4, Overlap::merged)),
              seconds(on_ethernet(nodes, 4, Overlap::wfbp)) * (1 + 1e-12));
    EXPECT_LE(seconds(with_overlap(training(nodes, 8), Overlap::merged)),
              seconds(with_overlap(training(nodes, 8), Overlap::wfbp)) * (1 + 1e-12));
  }
}

TEST(ScaledTime, ASequentialRunIsTheRingAfterComputing) {
  // Rows C002 to C004 of published_figures_test.cpp: line rate on 10 Gb Ethernet, at 253.1 images a
  // second of one GPU and 64 of each; within 3 % of what was measured, in images a second.
  Parameters line_rate = with(Parameter::line_efficiency, 1);
  line_rate.values[static_cast<std::size_t>(Parameter::negotiation)] = 1e-9;
  for (const auto& [nodes, measured] : {std::pair{2, 1282.28}, {4, 2485.12}, {8, 4920.82}}) {
    TrainingFacts facts = on_ethernet(nodes, 4, Overlap::none);
    facts.given_iteration = Seconds(64 / 253.1);
    facts.gradient = Bytes(25557032.0 * 4);
    EXPECT_NEAR(4 * nodes * 64 / seconds(facts, line_rate) / measured, 1, 0.03) << nodes;
  }
}

TEST(ScaledTime, MessagesWaitForTheSlowest) {
  // Where communication is the longer, only the time to the first message grows with jitter.
  const TrainingFacts facts = on_ethernet(8, 4, Overlap::wfbp);
  const Parameters steady = with(Parameter::jitter, 1e-9);
  const Parameters uneven = with(Parameter::jitter, 0.05);
  const double more = seconds(facts, uneven) - seconds(facts, steady);
  const double waiting =
      ScalingModel(facts).time(uneven).waiting.si() - ScalingModel(facts).time(steady).waiting.si();
  EXPECT_GT(more, waiting / 3);
  EXPECT_LT(more, 0.8 * waiting);
}

TEST(ScaledTime, GuardsItsInput) {
  TrainingFacts facts = training(2, 8);
  facts.cluster_bandwidth = {};
  EXPECT_THROW(ScalingModel{facts}, std::logic_error);
  facts = training(1, 8);
  facts.given_iteration = {};
  EXPECT_THROW(ScalingModel{facts}, std::logic_error);
  facts = training(1, 8);
  facts.profile.tensors.clear();
  EXPECT_THROW(ScalingModel{facts}, std::logic_error);
}

TEST(ScaledTime, StaysFiniteAtAnyScale) {
  for (const int gpus : {2, 1000, 100000}) {
    for (const double bytes : {1.0, 1e6, 1e13}) {
      TrainingFacts facts = on_ethernet(gpus, 1, Overlap::wfbp);
      facts.gradient = Bytes(bytes);
      const double time = seconds(facts);
      EXPECT_TRUE(std::isfinite(time) && time > 0.2) << gpus << " " << bytes;
    }
  }
}

}  // namespace
}  // namespace dlscale::model::scaling
