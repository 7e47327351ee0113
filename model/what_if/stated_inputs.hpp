#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// One "inter_node.bandwidth=200Gb/s" of the question "what if".
struct StatedInput {
  std::string key;
  std::string value;
};

/// Splits it. Throws ConfigError where "=" is missing or one of its sides is empty.
StatedInput parse_stated_input(std::string_view text);

/// All valid keys, for help: device.peak.f32 and so on, host.decode, host.cores, host_device.*,
/// intra_node.*, inter_node.* and storage.read_bandwidth, as in files of configs/clusters.
std::vector<std::string> stated_input_keys();

/// The machine with figures of its cluster as stated, each at most once. A machine from data sheets
/// computes all times anew. A fitted machine changes:
///   inter_node.*: replaces the measurements across nodes (Machine::inter_node_stated);
///   host.decode: reading stays as measured, decoding and augmenting take the stated time;
///   host.cores, storage.read_bandwidth: replaced, because nothing was fitted to them;
///   all others: scaled_machine() scales the measurements, by the ratio to what its cluster states.
/// `notes` receives a sentence for each. Throws ConfigError for an unknown key, an unreadable value
/// or one out of range, and a fitted machine without a figure to scale by. It also throws for a
/// figure that does not affect how the cluster reduces gradients.
Machine with_stated_inputs(Machine machine, std::span<const StatedInput> inputs,
                           std::vector<std::string>& notes);

/// The machine with another GPU in place of the cluster's; hosts and links stay. A machine from
/// data sheets takes its times from the new sheet, with the launch time of the cluster's device. A
/// fitted machine changes:
///   kernels  t' = t T'(F, Q) / T(F, Q), T = max(F/π, Q/β) of the two data sheets: as if kernels
///     reached the same share of both ceilings; the interval spans the ratios of π and of β,
///     because the ceiling that limits a kernel is not known;
///   updates by the ratio of β.
/// [D, derived] Kernels in a format that either sheet lacks are left out. `notes` receives what was
/// done. Throws ConfigError where the cluster's device is a processor. For a fitted machine it also
/// throws where its cluster states no figures of its device, and where either sheet lacks `dtype`.
Machine with_device(Machine machine, const DeviceSheet& sheet, DType dtype,
                    std::vector<std::string>& notes);

}  // namespace dlscale::model
