#pragma once
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/parallel/plan.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/parallel/stages/predict_stages.hpp"

namespace dlscale::model::test {

/// Pipelines of a network on a cluster by data sheets, whose samples are in memory. Stages of a
/// pipeline have neighbouring ranks.
struct Staged {
  Staged(std::string_view network_name, std::string_view cluster_name)
      : Staged(load_network(network_name), cluster_name) {}
  Staged(Network read, std::string_view cluster_name) : network(std::move(read)) {
    cluster = load_cluster(cluster_name);
    cluster.host.decode = {};
    cluster.storage.read_bandwidth = {};
    run.network = network.name();
    run.cluster = cluster.name;
    run.ranks_per_node = cluster.devices_per_node;
    run.schedule = Schedule::bucketed;
    plan.schedule = "gpipe";
    plan.order = {parallel::Axis::stages, parallel::Axis::tensor, parallel::Axis::context,
                  parallel::Axis::branches, parallel::Axis::data};
  }

  [[nodiscard]] StagedTraining predict(std::int64_t global_batch) {
    run.ranks = plan.data * plan.context * plan.stages;
    return predict_stages(network, nominal_machine(cluster), run, plan, global_batch);
  }

  Network network;
  Cluster cluster;
  Run run;
  parallel::ParallelPlan plan;
};

}  // namespace dlscale::model::test
