#pragma once
#include <optional>

#include "core/base/units.hpp"
#include "core/cluster/input_rate.hpp"
#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Rate of samples (images) from storage to the devices of a node. Arguments that are not
/// finite or out of range are the caller's bug (EXPECT).

/// Mean needs of one sample.
struct SampleCost {
  Bytes stored = {};    ///< s_rec, its record in storage, > 0
  Seconds decode = {};  ///< c_dec ≥ 0, thread time, including later transforms
};

/// Input resources of a node.
struct InputNode {
  /// B_read > 0, total of all its devices: see shared_read(). Absent: unknown, no bound.
  std::optional<BytesPerSecond> read = {};
  int threads = 1;  ///< n_thr ≥ 1, total of all its devices
};

enum class InputStage { read, decode };

/// Samples a second of a node, and the limiting stage.
struct InputRate {
  double samples_per_s;
  InputStage bound;
};

/// min{ B_read / s_rec, n_thr / c_dec }, because reading overlaps with decoding; the first of equal
/// ones. Infinite where neither is known. Wrong where cores or memory limit the
/// decoding of all threads.
InputRate input_rate(const SampleCost& sample, const InputNode& node);

/// B_read(n) = min{ client, server / n } of each of n ≥ 1 nodes that read from one server.
/// Partly filled nodes count in units of the fullest.
BytesPerSecond shared_read(BytesPerSecond client, BytesPerSecond server, double nodes);

/// AU = t_compute / (t_compute + stall), with t_compute > 0. MLPerf Storage requires 0.9.
double accelerator_utilisation(Seconds compute, Seconds stall);

/// Read bandwidth to feed a device: samples a second times the size of a record, both > 0.
BytesPerSecond required_read(double samples_per_s, Bytes stored);

/// Share of an ImageNet picture's bytes and decoding (picture_size, Host::decode) that a stored
/// sample takes, in (0, 1]: the pixels of the input over 224 × 224, as of data sets of small pictures
/// (CIFAR, SVHN, Tiny ImageNet). Inputs from 224 × 224 on are cut from pictures as large as
/// ImageNet's: 1. [derived: both grow with pixels] Too high where samples are stored undecoded.
double picture_share(const Network& network);
/// The record of a sample in storage. Machines that were measured read pictures of usual size,
/// whatever the network.
inline Bytes stored_size(const Machine& machine, const Network& network) {
  return machine.fitted ? picture_size : picture_share(network) * picture_size;
}

/// Time until storage has delivered a batch of samples of `stored` bytes to every rank that shares
/// it.
/// Measurements on one node include its storage, but not a server that several nodes share. A node
/// reads from a server no faster than its path to other nodes. 0 where the cluster does not state
/// the rate of storage.
Seconds storage_time(const Machine& machine, const Placement& placement, int batch,
                     Bytes stored = picture_size);

/// The shared server as bytes and rates, where nodes share one and it takes any time.
std::optional<SharedStorage> shared_storage(const Machine& machine, const Placement& placement,
                                            int batch, Bytes stored = picture_size);

}  // namespace dlscale::model
