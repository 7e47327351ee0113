#include "model/parallel/branches/branch_iteration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/network/step.hpp"
#include "model/memory/library_memory.hpp"
#include "model/parallel/branches/branch_messages.hpp"
#include "model/parallel/branches/branch_network.hpp"
#include "model/parallel/branches/branch_regions.hpp"
#include "model/published/scaling/time/parameters.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"
#include "model/sgd_iter/kernels/layer_memory.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

constexpr double f32_bytes = 4;

/// Times of a layer, and the gradient that its rank sends.
struct BranchLayer {
  Seconds forward;
  Seconds backward;
  Bytes gradient;
  bool in_branch = false;
};

/// The layers of a network as a rank computes them.
class BranchLayers {
 public:
  BranchLayers(const Network& network, const std::vector<BranchRegion>& regions,
               const Machine& machine, const Run& run, int branches)
      : ways_(branches) {
    add_times(network, machine, run, [](LayerId) { return true; });
    if (ways_ == 1) return;
    for (const BranchRegion& region : regions) {
      for (const LayerId id : region.layers) layers_[id.index()] = {{}, {}, {}, true};
    }
    Run of_all = run;
    of_all.batch = run.batch * ways_;
    add_times(branch_network(network, regions, ways_), machine, of_all,
              [&](LayerId id) { return layers_[id.index()].in_branch; });
    for (const BranchRegion& region : regions) share_paths(region);
  }

  [[nodiscard]] const std::vector<BranchLayer>& layers() const { return layers_; }
  [[nodiscard]] Seconds update() const { return gradient().si() * update_per_byte_; }
  [[nodiscard]] double imbalance() const { return mean_ > 0 ? longest_ / mean_ : 1; }
  [[nodiscard]] Bytes gradient() const {
    Bytes sum;
    for (const BranchLayer& layer : layers_) sum += layer.gradient;
    return sum;
  }

 private:
  template <class Chosen>
  void add_times(const Network& network, const Machine& machine, const Run& run,
                 const Chosen& chosen) {
    Notes notes;
    const KernelTimes kernels(network, machine, run, run.ranks_per_node, notes);
    layers_.resize(network.layers().size());
    for (const Step step : forward_steps(network)) {
      if (chosen(step.layer)) layers_[step.layer.index()].forward += kernels.time(step).value;
    }
    for (const Step step : backward_steps(network)) {
      if (chosen(step.layer)) layers_[step.layer.index()].backward += kernels.time(step).value;
    }
    for (const Layer& layer : network.layers()) {
      if (!chosen(layer.id)) continue;
      layers_[layer.id.index()].gradient =
          Bytes(f32_bytes * static_cast<double>(layer.parameter_count()));
    }
    const Bytes all(f32_bytes * static_cast<double>(network.parameter_count()));
    if (all <= Bytes()) return;
    const auto update = kernels.update(all);
    EXPECT(update.has_value());
    update_per_byte_ = update->value / all.si();
  }

  /// Ranks take paths, the longest first, each the one with the least so far. The slowest rank
  /// stands for all, and so does the one with most parameters.
  void share_paths(const BranchRegion& region) {
    if (region.kind != BranchRegion::Kind::paths) return;
    struct Path {
      const std::vector<LayerId>* layers;
      Seconds time;
      Bytes gradient;
    };
    std::vector<Path> paths;
    Seconds all;
    for (const auto& layers : region.paths) {
      Path path{&layers, {}, {}};
      for (const LayerId id : layers) {
        path.time += layers_[id.index()].forward + layers_[id.index()].backward;
        path.gradient += layers_[id.index()].gradient;
      }
      all += path.time;
      paths.push_back(path);
    }
    std::ranges::stable_sort(paths, std::ranges::greater{}, &Path::time);
    struct Load {
      Seconds time;
      Bytes gradient;
    };
    std::vector<Load> loads(static_cast<std::size_t>(ways_));
    for (const Path& path : paths) {
      Load& least = *std::ranges::min_element(loads, {}, &Load::time);
      least.time += path.time;
      least.gradient += path.gradient;
    }
    const Seconds slowest = std::ranges::max_element(loads, {}, &Load::time)->time;
    const Bytes most = std::ranges::max_element(loads, {}, &Load::gradient)->gradient;
    Bytes gradients;
    for (const Path& path : paths) gradients += path.gradient;
    longest_ += slowest.si();
    mean_ += all.si() / ways_;
    for (const LayerId id : region.layers) {
      BranchLayer& layer = layers_[id.index()];
      if (all > Seconds()) {
        layer.forward = slowest / all * layer.forward;
        layer.backward = slowest / all * layer.backward;
      }
      if (gradients > Bytes()) layer.gradient = most / gradients * layer.gradient;
    }
  }

  int ways_;
  std::vector<BranchLayer> layers_;
  Seconds update_per_byte_;
  double longest_ = 0;
  double mean_ = 0;
};

/// An exchange of activations among the W ranks of a group, once a pass.
struct Exchange {
  std::size_t layer;  ///< backward does it when it has computed this layer, or before
  Bytes size;         ///< of all W ranks, or of one whose outputs change places
  bool enters = false;
};

/// An output that several regions read is gathered once, and its gradients add up before they are
/// scattered.
std::vector<Exchange> exchanges_of(const Network& network, const std::vector<BranchRegion>& regions,
                                   const Run& run, int branches) {
  std::vector<Exchange> exchanges;
  if (branches == 1) return exchanges;
  const auto bytes = [&](LayerId id) {
    return Bytes(static_cast<double>(element_bytes(run.dtype)) * run.batch *
                 static_cast<double>(network.layer(id).output.elements()));
  };
  std::vector<bool> gathered(network.layers().size());
  for (const BranchRegion& region : regions) {
    for (const LayerId entry : region.entries) {
      if (gathered[entry.index()]) continue;
      gathered[entry.index()] = true;
      exchanges.push_back({region.layers.front().index(), branches * bytes(entry), true});
    }
    const int holders = region.adds ? branches : 1;
    exchanges.push_back({region.exit.index(), holders * bytes(region.exit)});
  }
  return exchanges;
}

/// Time of a pass, forward or backward. Outputs that change places take W - 1 messages, which
/// start like those of a gather and carry (W - 1) / W of a rank's share.
Seconds exchange_time(const std::vector<Exchange>& exchanges, const MessageLine& group) {
  Seconds sum;
  for (const Exchange& exchange : exchanges) sum += group.time(exchange.size);
  return sum;
}

Bytes exchanged_bytes(const std::vector<Exchange>& exchanges, int branches) {
  const double sent = static_cast<double>(branches - 1) / branches;
  Bytes sum;
  for (const Exchange& exchange : exchanges) sum += 2 * sent * exchange.size;
  return sum;
}

/// Backward in parts, each up to a message. Serial and branch gradients fill buckets of their own.
/// `waits` are the start-ups of exchanges by layer, in which the links are free for gradients and
/// nothing computes.
std::vector<ContendedPart> parts_of(const Network& network, const std::vector<BranchLayer>& layers,
                                    const std::vector<Seconds>& waits,
                                    const BranchMessages& messages, double slowest,
                                    double interference) {
  struct Bucket {
    Bytes filled;
    bool first = true;
    const MessageLine* line;
  };
  Bucket serial{{}, true, &messages.serial};
  Bucket branch{{}, false, &messages.copies};
  std::vector<ContendedPart> parts;
  const Contention both{1 + interference, 1 + interference};
  Seconds computed;
  const auto send = [&](Bucket& bucket) {
    if (bucket.filled <= Bytes()) return;
    parts.push_back({computed, bucket.line->time(bucket.filled), 0, {both}});
    computed = {};
    bucket.filled = {};
    bucket.first = false;
  };
  for (std::size_t i = network.layers().size(); i-- > 0;) {
    const BranchLayer& layer = layers[i];
    computed += slowest * layer.backward;
    if (waits[i] > Seconds()) {
      parts.push_back({computed, {}, 0, {both}});
      parts.push_back({waits[i], {}, 0, {Contention{}}});
      computed = {};
    }
    Bucket& bucket = layer.in_branch ? branch : serial;
    bucket.filled += layer.gradient;
    if (bucket.filled >= (bucket.first ? first_bucket_limit : bucket_limit)) send(bucket);
  }
  send(branch);
  send(serial);
  if (computed > Seconds()) parts.push_back({computed, {}, 0, {both}});
  return parts;
}

/// Copies of gradients and the waits of nodes for each other, for the gradients of a rank.
Seconds meeting_of(const SheetDelays& delays, Bytes all, Bytes own, const Device& device) {
  const double passes = nominal_scaling().parameters[scaling::Parameter::copy_passes];
  return delays.meeting - passes * (all - own) / device.memory_bandwidth;
}

/// In the terms of memory_need(): states by a rank's own parameters, activations as those of its
/// samples, and what it gathered of the others'. Branches add a communicator.
memory::MemoryEstimate memory_of(const Network& network, const Machine& machine, const Run& run,
                                 Bytes own, const std::vector<Exchange>& exchanges, int branches) {
  const MemoryNeed need = memory_need(network, machine.cluster.device.kind, run,
                                      memory_traits(network, run.dtype, machine.software));
  const Bytes all(f32_bytes * static_cast<double>(network.parameter_count()));
  Bytes gathered;
  for (const Exchange& exchange : exchanges) {
    if (exchange.enters) gathered += (branches - 1.0) / branches * exchange.size;
  }
  const double share = own / all;
  const memory::LibraryMemory libraries =
      memory::library_memory((run.ranks > branches ? 1 : 0) + (branches > 1 ? 1 : 0));
  const auto sum = [&](Bytes states, Bytes outputs, double library) {
    return (share * (need.parameters + states) + outputs + gathered).si() + library;
  };
  const Bytes beside = need.gradients + need.batch;
  return {sum(need.states, need.activations + beside, libraries.bytes),
          sum(need.least_states, need.kept, libraries.low),
          sum(need.most_states, most_copies * (need.activations + need.scores) + beside,
              libraries.high)};
}

/// The part of computing, by times of layers alone, that is in branches.
double share_in_branches(const std::vector<BranchLayer>& layers) {
  Seconds all;
  Seconds in_branches;
  for (const BranchLayer& layer : layers) {
    const Seconds time = layer.forward + layer.backward;
    all += time;
    if (layer.in_branch) in_branches += time;
  }
  return all > Seconds() ? in_branches / all : 0;
}

/// Everything of an iteration that does not depend on the place of groups.
struct Question {
  const Network& network;
  const Machine& machine;
  const Run& run;
  int branches;
  const BranchLayers& layers;
  std::vector<Exchange> exchanges;
};

BranchIteration iteration_at(const Question& asked, int branches_on_node, bool own_way_out) {
  const Run& run = asked.run;
  const BranchMessages messages = branch_messages(
      asked.machine,
      {run.ranks, run.ranks_per_node, asked.branches, branches_on_node, own_way_out});
  const SheetDelays delays =
      sheet_delays(asked.machine, {run.ranks, run.ranks_per_node}, asked.network);
  const double slowest = 1 + delays.waiting;
  BranchIteration result;
  Seconds forward;
  for (const BranchLayer& layer : asked.layers.layers()) forward += slowest * layer.forward;
  std::vector<Seconds> waits(asked.network.layers().size());
  Seconds waited;
  for (const Exchange& exchange : asked.exchanges) {
    waits[exchange.layer] += messages.group.start;
    waited += messages.group.start;
  }
  ContendedBackward backward;
  if (run.ranks > 1) {
    const auto parts = parts_of(asked.network, asked.layers.layers(), waits, messages, slowest,
                                delays.interference);
    backward = contended_backward(parts);
    const Bytes all(f32_bytes * static_cast<double>(asked.network.parameter_count()));
    result.exposed = backward.exposed +
                     meeting_of(delays, all, asked.layers.gradient(), asked.machine.cluster.device);
  } else {
    for (const BranchLayer& layer : asked.layers.layers()) backward.backward += layer.backward;
  }
  result.compute = forward + backward.backward - waited;
  result.branches = share_in_branches(asked.layers.layers()) * result.compute;
  result.exchange = 2 * exchange_time(asked.exchanges, messages.group);
  result.update = asked.layers.update();
  result.total = result.compute + result.exchange + result.exposed + result.update;
  result.gradient = asked.layers.gradient();
  result.exchanged = exchanged_bytes(asked.exchanges, asked.branches);
  result.imbalance = asked.layers.imbalance();
  result.branches_on_node = branches_on_node;
  return result;
}

}  // namespace

BranchIteration branch_iteration(const Network& read, const Machine& machine, const Run& run,
                                 int branches, const BranchPlace& place) {
  check(run);
  if (machine.fitted) {
    throw ConfigError(
        "branches are predicted from data sheets, and this machine was measured. Name a cluster.");
  }
  if (machine.cluster.device.kind == DeviceKind::cpu) {
    throw ConfigError(fmt::format(
        "branches are predicted from times of kernels on GPUs, and cluster {} has processors. Name "
        "a cluster of GPUs.",
        machine.cluster.name));
  }
  const Network network = as_run(read, run);
  const std::vector<BranchRegion> regions = branch_regions(network);
  if (branches != 1) check_branches(network, regions, run.ranks, branches);
  const BranchLayers layers(network, regions, machine, run, branches);
  const Question asked{network,  machine, run,
                       branches, layers,  exchanges_of(network, regions, run, branches)};
  std::vector<int> places = placements_of(run.ranks, run.ranks_per_node, branches);
  if (const std::optional<int> asked_for = place.branches_on_node) {
    if (std::ranges::find(places, *asked_for) == places.end()) {
      throw ConfigError(fmt::format(
          "{} of {} branches on a node do not fill nodes of {} ranks. Write a divisor of both.",
          *asked_for, branches, run.ranks_per_node));
    }
    places = {*asked_for};
  }
  if (places.empty()) {
    throw ConfigError(fmt::format(
        "groups of {} branches do not fill nodes of {} ranks with {} ranks in all. Change one of "
        "these.",
        branches, run.ranks_per_node, run.ranks));
  }
  std::optional<BranchIteration> best;
  for (const int on_node : places) {
    const BranchIteration one = iteration_at(asked, on_node, place.own_way_out);
    if (!best || one.total < best->total) best = one;
  }
  best->regions = static_cast<int>(regions.size());
  best->memory = memory_of(network, machine, run, layers.gradient(), asked.exchanges, branches);
  return *best;
}

double branch_gain(const Network& network, const Machine& machine, const Run& run, int branches,
                   const BranchPlace& place) {
  return branch_iteration(network, machine, run, 1).total /
         branch_iteration(network, machine, run, branches, place).total;
}

}  // namespace dlscale::model
