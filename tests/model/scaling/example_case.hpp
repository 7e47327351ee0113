#pragma once
#include <string>

#include "model/published/cases/scaling_case.hpp"
#include "model/published/scaling/facts/facts.hpp"

namespace dlscale::model::scaling::test {

/// All of configs/, read once.
inline const FactSources& sources() {
  static const FactSources all = FactSources::load();
  return all;
}

inline cases::CaseNetwork resnet50() {
  cases::CaseNetwork network;
  network.name = "ResNet-50";
  network.parameters = 25557032;
  return network;
}

inline cases::CaseNetwork bert_base() {
  cases::CaseNetwork network;
  network.name = "BERT-Base";
  network.parameters = 110106428;
  network.layers = 12;
  network.hidden = 768;
  network.ffn = 3072;
  network.vocab = 30522;
  network.seq = 128;
  return network;
}

/// ResNet-50 by Horovod on 2 nodes of 8 V100, of which one GPU is given.
inline cases::ScalingCase example_case() {
  cases::ScalingCase example;
  example.id = "set/example";
  example.set = "set";
  example.network = resnet50();
  example.sample_unit = "image";
  example.precision = "fp32";
  example.gradient_element = Bytes(4);
  example.batch_per_gpu = 64;
  example.gpus = 16;
  example.global_batch = 1024;
  example.gpus_per_node = 8;
  example.nodes = 2;
  example.cluster.gpu = "V100-SXM2-16GB";
  example.cluster.intra_node = {"nvlink2", BytesPerSecond(150e9), {}};
  example.cluster.inter_node = cases::CaseLink{"infiniband-rdma", BytesPerSecond(12.5e9), 1};
  example.run.framework = "TensorFlow 1.15 + Horovod 0.19";
  example.run.synchronisation = cases::Synchronisation::all_reduce;
  example.run.overlap = cases::Overlap::bucketed;
  example.run.input = cases::Input::synthetic;
  example.run.parallel.dp = 16;
  cases::GivenPoint given;
  given.gpus = 1;
  given.throughput = cases::PerSecond(320);
  given.batch_per_gpu = 64;
  given.global_batch = 64;
  example.given = {given};
  return example;
}

}  // namespace dlscale::model::scaling::test
