#pragma once
#include <string>

#include "model/published/cases/scaling_case.hpp"

namespace dlscale::model::cold::test {

/// ResNet-50 in fp32 on one V100 with 64 images, in PyTorch; nothing measured is given.
inline cases::ScalingCase cold_case() {
  cases::ScalingCase made;
  made.set = "made";
  made.id = "made/one";
  made.network.name = "ResNet-50";
  made.network.parameters = 25557032;
  made.sample_unit = "image";
  made.precision = "fp32";
  made.gradient_element = Bytes(4);
  made.batch_per_gpu = 64;
  made.global_batch = 64;
  made.gpus = 1;
  made.gpus_per_node = 8;
  made.nodes = 1;
  made.cluster.gpu = "V100-SXM2-16GB";
  made.cluster.intra_node = {"nvlink2", BytesPerSecond(150e9), {}};
  made.run.framework = "PyTorch 1.4 DistributedDataParallel";
  made.run.synchronisation = cases::Synchronisation::all_reduce;
  made.run.overlap = cases::Overlap::bucketed;
  made.run.input = cases::Input::synthetic;
  return made;
}

/// The same on more GPUs of one node.
inline cases::ScalingCase cold_case_on(int gpus) {
  cases::ScalingCase made = cold_case();
  made.id = "made/" + std::to_string(gpus);
  made.gpus = gpus;
  made.run.parallel.dp = gpus;
  made.global_batch = made.batch_per_gpu * gpus;
  return made;
}

}  // namespace dlscale::model::cold::test
