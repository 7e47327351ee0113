#pragma once
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/cluster/device_file.hpp"
#include "core/network/network.hpp"
#include "core/run/framework_file.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/published/scaling/facts/framework_traits.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/what_if/stated_inputs.hpp"

namespace dlscale::model {

/// A run of MLPerf's ResNet-50 by NVIDIA's MXNet.
struct MlperfRun {
  const char* cluster;
  const char* gpu;      ///< data sheet of its GPUs, in place of the cluster's
  int gpus;             ///< ≥ 1
  int batch;            ///< of a GPU, ≥ 1
  bool merged = false;  ///< all gradients travel together
};

/// Its prediction from data sheets. Input comes by other means than those of the cluster.
inline Prediction mlperf_prediction(const MlperfRun& asked) {
  std::vector<std::string> notes;
  Machine machine = with_device(nominal_machine(load_cluster(asked.cluster)),
                                load_device_sheet(asked.gpu), DType::f16, notes);
  machine.loaders.front().decode = {};
  const FrameworkProfile framework = load_framework("nvidia_mxnet_2021");
  machine.software = framework.compute;
  machine.exchange_traits = scaling::traits_of(framework);
  dlscale::Run run;
  run.network = "resnet50_v1.5";
  run.cluster = asked.cluster;
  run.ranks_per_node = machine.cluster.devices_per_node;
  run.batch = asked.batch;
  run.dtype = DType::f16;
  run.schedule = Schedule::bucketed;
  if (asked.merged) run.settings.first_bucket = run.settings.bucket = Bytes(1e9);
  run.input_copy = InputCopy::ahead;
  run.launch = Launch::graph;
  const int ranks[] = {asked.gpus};
  return predict(load_network(run.network), machine, run, ranks).front();
}

}  // namespace dlscale::model
