#include "model/memory/out_of_core/spilled_training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/kept_outputs.hpp"
#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "model/memory/out_of_core/policies.hpp"
#include "model/sgd_iter/layer_times.hpp"

namespace dlscale::model {
namespace {

Run run_of(std::string_view network, int batch) {
  Run run;
  run.network = network;
  run.cluster = "p40x16";
  run.ranks_per_node = 4;
  run.batch = batch;
  run.input_copy = InputCopy::ahead;
  return run;
}

const SpillTensor& tensor_of(const SpilledTraining& training, std::string_view name) {
  const auto found = std::ranges::find(training.tensors, name, &SpillTensor::name);
  EXPECT_NE(found, training.tensors.end()) << name;
  return *found;
}

TEST(SpilledTrainings, KeepWhatBackwardReadsAtTheTimesOfLayers) {
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  for (const std::string_view name : {"vgg16", "resnet50", "inception_v4"}) {
    const Network network = load_network(name);
    const auto run = run_of(name, 16);
    const SpilledTraining training = spilled_training(network, machine, run);
    const double bytes = 16.0 * 4.0 * static_cast<double>(kept_elements(network));
    EXPECT_NEAR(training.tensor_bytes().si() / bytes, 1, 0.001) << name;
    Seconds layers;
    for (const LayerTime& layer : layer_times(network, machine, run).layers) {
      layers += layer.forward + layer.backward;
    }
    EXPECT_NEAR((training.compute() - training.update).si() / layers.si(), 1, 1e-9) << name;
    for (const SpillTensor& tensor : training.tensors) {
      EXPECT_LE(tensor.produced, tensor.released);
      EXPECT_LE(tensor.last_backward, tensor.released);
      EXPECT_LT(tensor.released, training.layers.size());
    }
  }
}

TEST(SpilledTrainings, ComputeAnewWhatNoProductMade) {
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  const SpilledTraining training =
      spilled_training(load_network("resnet50"), machine, run_of("resnet50", 16));
  EXPECT_FALSE(tensor_of(training, "conv1").recompute.has_value());
  // A ReLU follows from the output of its convolution by the batch norm, too.
  ASSERT_TRUE(tensor_of(training, "conv1_relu").recompute.has_value());
  EXPECT_GT(*tensor_of(training, "conv1_relu").recompute, Seconds());
  // VGG keeps no output of a convolution beside that of its ReLU, so that it has no base.
  const SpilledTraining vgg = spilled_training(load_network("vgg16"), machine, run_of("vgg16", 16));
  EXPECT_FALSE(tensor_of(vgg, "relu1_1").recompute.has_value());
  EXPECT_TRUE(tensor_of(vgg, "pool1").recompute.has_value());
}

TEST(SpilledTrainings, OfTransformersAreLeftWithoutScores) {
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  const SpilledTraining training =
      spilled_training(load_network("bert_base"), machine, run_of("bert_base", 4));
  for (const SpillTensor& tensor : training.tensors) {
    EXPECT_EQ(tensor.name.find("softmax"), std::string::npos) << tensor.name;
  }
  EXPECT_LT(spilled(SpillPolicy::vdnn_all, training, host_link(machine.cluster), Bytes(1e12)).peak,
            spilled(SpillPolicy::keep, training, host_link(machine.cluster), Bytes(1e12)).peak);
}

TEST(HostLinks, NeedABandwidth) {
  Cluster cluster = load_cluster("p40x16");
  EXPECT_NEAR(host_link(cluster).to_device.si(), 12.35e9, 0.01e9);
  EXPECT_NEAR(host_link(cluster).by_faults.si(), 5.0e9, 0.01e9);
  cluster.host_device.bandwidth = {};
  EXPECT_THROW(host_link(cluster), ConfigError);
}

}  // namespace
}  // namespace dlscale::model
