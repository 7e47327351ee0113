#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/published/cold/predictor.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "tests/model/published/cold_case.hpp"

namespace dlscale::model::cold {
namespace {

using cases::ScalingCase;
using test::cold_case;

/// Figures of talks, predicted from data sheets alone: ResNet-50 on ImageNet, 1,281,167 images an
/// epoch. Batches that a talk does not state are 32 images a GPU.
constexpr double images = 1281167;

cases::PredictedValue answer_of(const ScalingCase& training) {
  static const scaling::FactSources sources = scaling::FactSources::load();
  static const scaling::ScalingFile file = scaling::load_scaling(scaling::usual_scaling);
  sheet::KernelFile kernels;
  kernels.constants = sheet::nominal_constants();
  return predict(file.fitted, kernels, sources, std::vector{training}).at(0).values.at(0).value();
}

void place(ScalingCase& training, int nodes, int each, double batch) {
  training.gpus = nodes * each;
  training.nodes = nodes;
  training.gpus_per_node = each;
  training.batch_per_gpu = batch;
  training.global_batch = batch * training.gpus;
  training.run.parallel.dp = training.gpus;
}

/// OSU at SC19: 90 epochs in 332 s on 1,536 V100 of Summit, over two EDR cards a node.
TEST(Talks, SummitTrainsFor90EpochsIn332Seconds) {
  ScalingCase summit = cold_case();
  place(summit, 256, 6, 32);
  summit.cluster.inter_node = cases::CaseLink{"infiniband-rdma", BytesPerSecond(25e9), 2};
  summit.run.framework = "TensorFlow 1.14 + Horovod 0.18";
  const cases::PredictedValue found = answer_of(summit);
  const double published = 90 * images / 332;
  EXPECT_NEAR(found.value / published, 1, 0.2);
  EXPECT_LT(*found.low, published);
  EXPECT_GT(*found.high, published);
}

/// A single Pascal takes about six days.
TEST(Talks, OnePascalTakesAboutSixDays) {
  ScalingCase pascal = cold_case();
  place(pascal, 1, 1, 32);
  pascal.cluster.gpu = "P100-PCIe-16GB";
  pascal.cluster.intra_node = {"pcie3x16", BytesPerSecond(15.75e9), {}};
  pascal.run.framework = "TensorFlow 1.4";
  const double days = 90 * images / answer_of(pascal).value / 86400;
  EXPECT_NEAR(days, 6, 1.5);
}

/// Four nodes of four P40, arXiv:1711.05979: Caffe-MPI hides its messages, CNTK sends them after
/// the backward pass, TensorFlow's servers send them by gRPC.
TEST(Talks, FrameworksOnP40AreInTheOrderOfTheirExchange) {
  const auto speed = [](const char* framework, cases::Synchronisation by, cases::Overlap overlap) {
    ScalingCase training = cold_case();
    place(training, 4, 4, 32);
    training.cluster.gpu = "P40";
    training.cluster.intra_node = {"pcie3x16", BytesPerSecond(15.75e9), {}};
    training.cluster.inter_node = cases::CaseLink{"infiniband-rdma", BytesPerSecond(6.8175e9), 1};
    training.run.framework = framework;
    training.run.synchronisation = by;
    training.run.overlap = overlap;
    return answer_of(training).value;
  };
  const auto all_reduce = cases::Synchronisation::all_reduce;
  const auto servers = cases::Synchronisation::parameter_server;
  const double caffe = speed("Caffe-MPI 2.0", all_reduce, cases::Overlap::wfbp);
  const double cntk = speed("CNTK 2.0", all_reduce, cases::Overlap::none);
  const double mxnet = speed("MXNet 0.10 kvstore dist_sync", servers, cases::Overlap::wfbp);
  const double tensorflow = speed("TensorFlow 1.2 tf_cnn_benchmarks: parameter_server/cpu", servers,
                                  cases::Overlap::none);
  EXPECT_GT(caffe, cntk);
  EXPECT_GT(caffe, mxnet);
  EXPECT_GT(cntk, tensorflow);
}

}  // namespace
}  // namespace dlscale::model::cold
