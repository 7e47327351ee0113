#pragma once
// Trainings that were made up, and what the model of scaling with known parameters says of them.
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/published/scaling/time/scaled_time.hpp"

namespace dlscale::model::scaling::test {

/// Hardware of a set.
struct Hardware {
  const char* gpu;
  const char* in_node;
  double in_node_bandwidth;
  const char* between_nodes;
  double between_nodes_bandwidth;
};

inline constexpr std::array<Hardware, 4> hardware{{
    {"V100-PCIe-16GB", "pcie3x16", 15.75e9, "ethernet-tcp", 1.25e9},
    {"V100-SXM2-16GB", "nvlink2", 150e9, "infiniband-rdma", 12.5e9},
    {"V100-PCIe-16GB", "pcie3x16", 15.75e9, "infiniband-rdma", 12.5e9},
    {"V100-SXM2-16GB", "nvlink2", 150e9, "ethernet-tcp", 1.25e9},
}};

/// ResNet-50 in PyTorch, whose time on one GPU is given: 0.2 s for 64 pictures.
inline cases::ScalingCase training(std::size_t set, int gpus, cases::Overlap overlap,
                                   double batch = 64) {
  const Hardware& on = hardware.at(set);
  constexpr int gpus_per_node = 4;
  cases::ScalingCase made;
  made.set = std::string("set ") + static_cast<char>('a' + set);
  made.id = made.set + "/" + std::to_string(gpus) + "-" +
            std::to_string(static_cast<int>(overlap)) + "-" + std::to_string(batch);
  made.network.name = "ResNet-50";
  made.network.parameters = 25557032;
  made.sample_unit = "image";
  made.precision = "fp32";
  made.gradient_element = Bytes(4);
  made.batch_per_gpu = batch;
  made.global_batch = batch * gpus;
  made.gpus = gpus;
  made.gpus_per_node = gpus_per_node;
  made.nodes = (gpus + gpus_per_node - 1) / gpus_per_node;
  made.cluster.gpu = on.gpu;
  made.cluster.intra_node = {on.in_node, BytesPerSecond(on.in_node_bandwidth), {}};
  made.cluster.inter_node =
      cases::CaseLink{on.between_nodes, BytesPerSecond(on.between_nodes_bandwidth), 1};
  made.run.framework = "PyTorch 1.4 DistributedDataParallel";
  made.run.synchronisation = cases::Synchronisation::all_reduce;
  made.run.overlap = overlap;
  made.run.input = cases::Input::synthetic;
  made.run.parallel.dp = gpus;
  made.given = {{1, cases::PerSecond(320), 64, 64, ""}};
  return made;
}

/// Trainings with what was measured of them.
struct SyntheticStudy {
  std::vector<cases::ScalingCase> trainings = {};
  std::vector<cases::Outcome> outcomes = {};
  std::vector<double> true_times = {};  ///< s, without noise

  /// Every second time in the other unit.
  void add(const cases::ScalingCase& training, double true_time, double measured) {
    cases::Measured found;
    found.unit =
        trainings.size() % 2 == 0 ? cases::CaseUnit::samples_per_s : cases::CaseUnit::iteration_s;
    found.values = {found.unit == cases::CaseUnit::iteration_s ? measured
                                                               : training.global_batch / measured};
    cases::Outcome outcome;
    outcome.measured = found;
    trainings.push_back(training);
    outcomes.push_back(outcome);
    true_times.push_back(true_time);
  }
};

/// `sets` sets of trainings on 2 to 32 GPUs, `noise` being the standard deviation of the logarithm
/// of measured over true times.
inline SyntheticStudy synthetic_study(const FactSources& sources, const Parameters& truth,
                                      std::size_t sets, const std::vector<double>& batches,
                                      double noise) {
  std::mt19937 random(20261123);
  std::normal_distribution<double> normal;
  SyntheticStudy study;
  for (std::size_t set = 0; set < sets; ++set) {
    for (const int gpus : {2, 4, 8, 16, 32}) {
      for (const auto overlap : {cases::Overlap::none, cases::Overlap::bucketed}) {
        for (const double batch : batches) {
          const cases::ScalingCase made = training(set, gpus, overlap, batch);
          const double time = ScalingModel(training_facts(made, sources)).time(truth).total.si();
          study.add(made, time, time * std::exp(noise * normal(random)));
        }
      }
    }
  }
  return study;
}

/// The prior with some constants that are not as it says.
inline Parameters unlike_the_prior() {
  Parameters truth = Parameters::prior();
  const auto scale = [&](Parameter which, double by) {
    truth.values[static_cast<std::size_t>(which)] *= by;
  };
  scale(Parameter::pcie_efficiency, 1.5);
  scale(Parameter::nvlink_efficiency, 0.7);
  scale(Parameter::card_efficiency, 0.6);
  scale(Parameter::interference, 1.8);
  scale(Parameter::jitter, 2.5);
  return truth;
}

}  // namespace dlscale::model::scaling::test
