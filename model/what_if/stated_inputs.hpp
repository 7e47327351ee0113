#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace dlscale::model
