#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/run/framework_file.hpp"
#include "model/machine/machine.hpp"
#include "model/published/scaling/facts/framework_traits.hpp"
#include "model/published/scaling/fit/interval.hpp"
#include "model/published/scaling/predictor.hpp"
#include "model/sgd_iter/measured_level_fit.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "tests/model/scaling/example_case.hpp"

/// One training asked twice: as a published case of which one GPU is given, and as a run on a
/// cluster that we ship, with the same point measured. Facts of both are written down here.
namespace dlscale::model {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own
using cases::CaseLink;
using cases::ScalingCase;

struct Software {
  std::string profile;  ///< of configs/frameworks
  std::string named;    ///< as a case names it
  Schedule schedule = Schedule::bucketed;
  cases::Overlap overlap = cases::Overlap::bucketed;
  Callers callers = Callers::ranks;
  Transport transport = Transport::collectives;
};

struct Place {
  std::string cluster;
  std::string gpu;
  int gpus_per_node = 1;
  CaseLink within;
  std::optional<CaseLink> between = {};
};

const Place dgx1{"dgx1",
                 "V100-SXM2-16GB",
                 8,
                 {"nvlink2", BytesPerSecond(150e9), {}},
                 CaseLink{"infiniband-rdma", BytesPerSecond(50e9), 4}};
const Place dgx_a100{"dgx_a100",
                     "A100-SXM4-40GB",
                     8,
                     {"nvlink3", BytesPerSecond(300e9), {}},
                     CaseLink{"infiniband-rdma", BytesPerSecond(200e9), 8}};
const Place p40s{"p40x16",
                 "P40",
                 4,
                 {"pcie3x16", BytesPerSecond(15.75e9), {}},
                 CaseLink{"infiniband-rdma", BytesPerSecond(54.54e9 / 8), 1}};
const Place k80s{"k80x16_10gbe",
                 "K80",
                 4,
                 {"pcie3x16", BytesPerSecond(15.75e9), {}},
                 CaseLink{"ethernet-tcp", BytesPerSecond(1.25e9), 1}};
const Place amazon{"p2_8xlarge",
                   "K80",
                   8,
                   {"pcie3x16", BytesPerSecond(15.75e9), {}},
                   CaseLink{"ethernet-tcp", BytesPerSecond(1.25e9), 1}};

const Software pytorch{"pytorch_ddp", "PyTorch 1.8 DistributedDataParallel"};
const Software replicated{"tf_cnn_benchmarks_distributed_replicated",
                          "TensorFlow 1.1 tf_cnn_benchmarks: distributed_replicated",
                          Schedule::wait_free,
                          cases::Overlap::wfbp,
                          Callers::nodes,
                          Transport::grpc};
const Software on_hosts{"tf_cnn_benchmarks_parameter_server_cpu",
                        "TensorFlow 1.1 tf_cnn_benchmarks: parameter_server/cpu",
                        Schedule::wait_free,
                        cases::Overlap::wfbp,
                        Callers::several_nodes,
                        Transport::grpc};
const Software on_gpus{"tf_cnn_benchmarks_parameter_server_gpu",
                       "TensorFlow 1.1 tf_cnn_benchmarks: parameter_server/gpu",
                       Schedule::wait_free,
                       cases::Overlap::wfbp,
                       Callers::several_nodes,
                       Transport::grpc};
const Software mxnet{"mxnet_0.10", "MXNet kvstore dist_sync", Schedule::wait_free,
                     cases::Overlap::wfbp};
const Software mxnet_device{"mxnet_0.10_device", "MXNet kvstore dist_device_sync",
                            Schedule::wait_free, cases::Overlap::wfbp};
const Software byteps{"byteps_0.2", "PyTorch 1.4 + BytePS 0.2", Schedule::wait_free,
                      cases::Overlap::scheduled};

/// A network with its number of parameters, and samples a second of one GPU.
struct Work {
  std::string file;
  cases::CaseNetwork network;
  int batch = 32;
  double alone = 1;
};

cases::CaseNetwork image_network(const char* name, std::int64_t parameters) {
  cases::CaseNetwork network;
  network.name = name;
  network.parameters = parameters;
  return network;
}

Work resnet50(double alone) {
  return {"resnet50", image_network("ResNet-50", 25557032), 32, alone};
}
Work vgg16(double alone) {
  return {"vgg16", image_network("VGG-16", 138357544), 32, alone};
}
Work bert_base(double alone) {
  return {"bert_base", scaling::test::bert_base(), 48, alone};
}

bool has_servers(const Software& software) {
  return load_framework(software.profile).gradients.value() == GradientPath::parameter_server;
}

ScalingCase case_of(const Work& work, const Place& place, const Software& software, int gpus) {
  ScalingCase training = scaling::test::example_case();
  training.network = work.network;
  training.sample_unit = work.network.seq ? "sequence" : "image";
  training.batch_per_gpu = work.batch;
  training.gpus = training.run.parallel.dp = gpus;
  training.global_batch = work.batch * gpus;
  training.gpus_per_node = place.gpus_per_node;
  training.nodes = (gpus + place.gpus_per_node - 1) / place.gpus_per_node;
  training.cluster = {place.gpu, place.within, place.between};
  training.run.framework = software.named;
  training.run.synchronisation = has_servers(software) ? cases::Synchronisation::parameter_server
                                                       : cases::Synchronisation::all_reduce;
  training.run.overlap = software.overlap;
  training.run.input = cases::Input::unknown;
  training.given.front().throughput = cases::PerSecond(work.alone);
  training.given.front().batch_per_gpu = training.given.front().global_batch = work.batch;
  return training;
}

Machine machine_of(const Place& place, const Software& software) {
  Machine machine = nominal_machine(load_cluster(place.cluster));
  machine.exchange_traits = scaling::traits_of(load_framework(software.profile), {2021, 3});
  return machine;
}

Prediction prediction_of(Machine machine, const Work& work, const Place& place,
                         const Software& software, int gpus) {
  const FrameworkProfile profile = load_framework(software.profile);
  TrainingRun run;
  run.network = work.file;
  run.ranks_per_node = place.gpus_per_node;
  run.batch = work.batch;
  run.schedule = software.schedule;
  run.input_copy = InputCopy::ahead;
  run.loader_threads = 8;
  if (has_servers(software)) run.synchronisation = Synchronisation::parameter_server;
  run.settings.callers = software.callers;
  run.settings.transport = software.transport;
  if (profile.sharding.is_stated()) run.settings.sharding = profile.sharding.value();
  const Network network = load_network(work.file);
  const MeasuredPoint alone{1, run.batch, Seconds(work.batch / work.alone)};
  machine.level = measured_level(network, machine, run, {alone});
  const int ranks[] = {gpus};
  return predict(network, machine, run, ranks).front();
}

void expect_agreement(const Work& work, const Place& place, const Software& software,
                      const std::vector<int>& all_gpus) {
  constexpr double of_value = 0.015;
  constexpr double of_ends = 0.025;
  for (const int gpus : all_gpus) {
    const ScalingCase training = case_of(work, place, software, gpus);
    const scaling::IntervalTime wanted =
        scaling::scaled(nominal_scaling(),
                        scaling::training_facts(training, scaling::test::sources()))
            .time;
    const Machine machine = machine_of(place, software);
    const Prediction found = prediction_of(machine, work, place, software, gpus);
    const std::string about = place.cluster + ' ' + work.file + ' ' + software.profile + " on " +
                              std::to_string(gpus) + " GPUs";
    EXPECT_NEAR(found.time.total / wanted.value, 1, of_value) << about;
    ASSERT_TRUE(found.low && found.high) << about;
    EXPECT_NEAR(*found.low / wanted.low, 1, of_ends) << about;
    EXPECT_NEAR(*found.high / wanted.high, 1, of_ends) << about;
  }
}

/// Not 2, 3, 5, 6 or 7 GPUs: a cluster has the links of the first ones, and a case any.
TEST(SheetCases, AgreeOnAMeshOfNvlinksAndSeveralNodes) {
  expect_agreement(resnet50(346), dgx1, pytorch, {1, 4, 8, 16, 64});
  expect_agreement(vgg16(230), dgx1, pytorch, {4, 8, 64});
}

TEST(SheetCases, AgreeOnSwitchesOfNvlinks) {
  expect_agreement(vgg16(300), dgx_a100, pytorch, {2, 8, 32});
}

TEST(SheetCases, AgreeOnPciExpress) {
  expect_agreement(resnet50(135), p40s, pytorch, {2, 4, 16});
  expect_agreement(vgg16(95), p40s, pytorch, {2, 4, 16});
}

TEST(SheetCases, AgreeOverTcp) {
  expect_agreement(resnet50(51), k80s, pytorch, {2, 4, 8, 16});
  expect_agreement(vgg16(36), k80s, pytorch, {8, 16});
}

TEST(SheetCases, AgreeForSequencesOfUnequalLength) {
  expect_agreement(bert_base(124), dgx1, pytorch, {4, 8});
}

/// The case says nothing of the processors of its nodes.
TEST(SheetCases, AllowForSlowInputWhereTheClusterStatesNoDecoding) {
  const ScalingCase training = case_of(resnet50(800), dgx1, pytorch, 8);
  const scaling::TrainingFacts facts = scaling::training_facts(training, scaling::test::sources());
  const scaling::IntervalTime wanted = scaling::scaled(nominal_scaling(), facts).time;
  ASSERT_NEAR(wanted.high / scaling::slow_input(facts), 1, 1e-9);
  Machine machine = machine_of(dgx1, pytorch);
  const Prediction known = prediction_of(machine, resnet50(800), dgx1, pytorch, 8);
  EXPECT_LT(known.high.value() / wanted.high, 0.8);
  machine.cluster.host.decode = {};
  machine.loaders.front().decode = {};
  const Prediction unknown = prediction_of(machine, resnet50(800), dgx1, pytorch, 8);
  EXPECT_NEAR(unknown.high.value() / wanted.high, 1, 0.02);
}

TEST(SheetCases, AgreeForServersOfEachKind) {
  for (const Software& software : {replicated, on_hosts, on_gpus}) {
    expect_agreement(resnet50(48.4), amazon, software, {8, 16, 64});
    expect_agreement(vgg16(36), amazon, software, {8, 16, 64});
  }
  for (const Software& software : {mxnet, mxnet_device, byteps}) {
    expect_agreement(resnet50(48.4), k80s, software, {4, 8, 16});
    expect_agreement(vgg16(36), k80s, software, {4, 16});
  }
}

}  // namespace
}  // namespace dlscale::model
