#pragma once
#include "core/base/units.hpp"
#include "model/published/scaling/facts/facts.hpp"

namespace dlscale::model::scaling {

/// n tensors that are ready at equal distances and get smaller in proportion to what is left.
inline TensorProfile ramp(int n, double parameters) {
  TensorProfile profile;
  for (int i = 0; i < n; ++i) {
    const double share = 2.0 * (n - i) / (static_cast<double>(n) * (n + 1));
    profile.tensors.push_back({share * parameters, (i + 1.0) / n});
  }
  return profile;
}

/// 25.6 million parameters in 151 tensors, in 32 bits; 0.2 s on one GPU with 64 samples, asked for
/// `nodes` nodes of `each` GPUs that NVLinks join in a mesh, over InfiniBand of 100 Gb/s; buckets
/// of 25 MiB.
inline TrainingFacts training(int nodes, int each) {
  TrainingFacts facts;
  facts.parameters = 25.6e6;
  facts.gradient = Bytes(102.4e6);
  facts.profile = ramp(151, facts.parameters);
  facts.given_iteration = Seconds(0.2);
  facts.given_batch = 64;
  facts.batch = 64;
  facts.asked = {nodes * each, nodes, each};
  facts.node_fabric = NodeFabric::mesh;
  facts.node_bandwidth = 150.0_GBps;
  facts.node_links = 6;
  facts.cluster_fabric = ClusterFabric::rdma;
  facts.cluster_bandwidth = 12.5_GBps;
  facts.memory_bandwidth = 900.0_GBps;
  facts.launched = 2017;
  facts.overlap = cases::Overlap::bucketed;
  facts.framework.first_bucket = 1_MiB;
  facts.framework.bucket = 25_MiB;
  return facts;
}

/// The same over PCIe 3.0 and 10 Gb Ethernet, by Horovod.
inline TrainingFacts on_ethernet(int nodes, int each, cases::Overlap overlap) {
  TrainingFacts facts = training(nodes, each);
  facts.node_fabric = NodeFabric::pcie;
  facts.node_bandwidth = 15.75_GBps;
  facts.cluster_fabric = ClusterFabric::tcp;
  facts.cluster_bandwidth = 1.25_GBps;
  facts.memory_bandwidth = 616.0_GBps;
  facts.launched = 2018;
  facts.overlap = overlap;
  facts.framework.coordinator = true;
  facts.framework.fusion_cycle = Seconds(1e-3);
  facts.framework.grouping = Grouping::by_time;
  facts.framework.first_bucket = Bytes(64e6);
  facts.framework.bucket = Bytes(64e6);
  return facts;
}

}  // namespace dlscale::model::scaling
