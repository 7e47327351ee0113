// Rows of input, stragglers and time to train, as the code computes them.
#include <cstdint>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/cluster/device_file.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"
#include "model/sgd_iter/costs/input_pipeline.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/time_to_train.hpp"
#include "model/what_if/stated_inputs.hpp"
#include "tests/model/computed_checks.hpp"

namespace dlscale::model {
namespace {

/// The mean record of ImageNet's TFRecords. [argonne-lcf/dlio_benchmark]
constexpr Bytes record(114660.07);

/// MB/s of ResNet-50 on a V100, an A100 and an H100. [mlcommons/storage, workload files]
Computed storage_rates(const std::vector<double>&) {
  Computed computed;
  for (const double rate : {64 / 0.195, 400 / 0.435, 400 / 0.224}) {
    computed.numbers.push_back(near(required_read(rate, record).si() / 1e6, 0.1));
  }
  return computed;
}

Computed rate_of_summit(const std::vector<double>&) {
  return {{near_by(required_read(347304, record).si() / 1e9, 0.01)}};
}

Rule normal_maximum(std::int64_t n) {
  return [=](const std::vector<double>&) {
    return Computed{{near(expected_normal_maximum(n), 1e-4)}};
  };
}

Rule harmonic(std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = n; i >= 1; --i) sum += 1 / static_cast<double>(i);
  return [=](const std::vector<double>&) { return Computed{{near(sum, 1e-4)}}; };
}

/// s an epoch, images/s, images/s of each of 1,536 GPUs, in 332 s.
Computed summit(const std::vector<double>&) {
  const double rate = required_rate({.epochs = 90}, Seconds(332));
  const Seconds epoch = time_to_train({.epochs = 1, .samples_per_s = rate});
  return {{near(epoch.si(), 1e-3), near(rate, 1), near(rate / 1536, 0.05)}};
}

/// s and minutes, and images/s of each of 2,048 nodes.
Computed frontera(const std::vector<double>&) {
  const double time = time_to_train({.epochs = 90, .samples_per_s = 260000}).si();
  return {{near(time, 0.05), near(time / 60, 0.005), near(260000 / 2048.0, 0.5)}};
}

Rule reference_epochs(double batch) {
  return [=](const std::vector<double>&) {
    return Computed{{near_by(epochs_to_target(resnet50_imagenet, batch), 0.066)}};
  };
}

/// Seconds of MLPerf's runs: within the 90 % interval of what is predicted from data sheets alone,
/// for as many epochs as they took. Evaluations, which these have and that has not, take a few per
/// cent.
Rule mlperf(const char* cluster, const char* device, int devices, int batch, double epochs) {
  return [=](const std::vector<double>&) {
    std::vector<std::string> notes;
    Machine machine = with_device(nominal_machine(load_cluster(cluster)), load_device_sheet(device),
                                  DType::f16, notes);
    machine.loaders.front().decode = {};  // by other means than those of the sheet
    Run run;
    run.network = "resnet50_v1.5";
    run.cluster = cluster;
    run.ranks_per_node = machine.cluster.devices_per_node;
    run.batch = batch;
    run.dtype = DType::f16;
    run.schedule = Schedule::bucketed;
    run.input_copy = InputCopy::ahead;
    const int ranks[] = {devices};
    const Prediction prediction = predict(load_network(run.network), machine, run, ranks).front();
    const auto takes = [&](Seconds iteration) {
      const double rate = static_cast<double>(devices) * batch / iteration.si();
      return time_to_train({.epochs = epochs, .samples_per_s = rate}).si();
    };
    return Computed{{within(takes(prediction.low.value()), takes(prediction.high.value()))}};
  };
}

}  // namespace

Rules training_rules() {
  return {{"C138", storage_rates},
          {"C139", rate_of_summit},
          {"C140", normal_maximum(2)},
          {"C141", normal_maximum(4)},
          {"C142", normal_maximum(8)},
          {"C143", normal_maximum(16)},
          {"C144", normal_maximum(64)},
          {"C145", normal_maximum(256)},
          {"C146", normal_maximum(1024)},
          {"C147", normal_maximum(2048)},
          {"C148", harmonic(8)},
          {"C149", harmonic(64)},
          {"C150", harmonic(1024)},
          {"C151", summit},
          {"C152", frontera},
          {"C153", reference_epochs(1632)},
          {"C154", reference_epochs(3264)},
          {"C155", reference_epochs(4096)},
          {"C156", reference_epochs(8192)},
          {"C157", reference_epochs(13056)},
          {"C158", reference_epochs(32768)},
          {"C159", reference_epochs(49152)},
          {"C160", reference_epochs(58880)},
          {"C161", reference_epochs(65536)},
          {"C162", reference_epochs(67840)},
          {"C163", mlperf("dgx1", "v100_sxm2_16gb", 8, 208, 37)},
          {"C164", mlperf("dgx1", "v100_sxm3_32gb", 512, 65, 56)},
          {"C165", mlperf("dgx_a100", "a100_sxm4_40gb", 768, 45, 59)},
          {"C166", mlperf("dgx_a100", "a100_sxm4_80gb", 1024, 35, 60)},
          {"C167", mlperf("dgx_a100", "a100_sxm4_80gb", 4320, 15, 85)}};
}

}  // namespace dlscale::model
