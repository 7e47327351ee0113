#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine/machine.hpp"

namespace dlscale::model {

/// One "inter_node.bandwidth=200Gb/s" of predict --set.
struct StatedInput {
  std::string key;
  std::string value;
};

/// Splits it. Throws ConfigError where there is no "=", or nothing on a side of it.
StatedInput parse_stated_input(std::string_view text);

/// The keys there are, for help: device.peak.f32 and so on, host.decode, host.cores, host_device.*,
/// intra_node.*, inter_node.* and storage.read_bandwidth, as in files of configs/clusters.
std::vector<std::string> stated_input_keys();

/// The machine with figures of its cluster as stated, each at most once. From data sheets all times
/// follow anew. Of a fitted one
///   inter_node.*: what was measured across nodes does not count any more
///     (Machine::inter_node_stated);
///   host.decode: reading stays as measured, decoding and augmenting take what is stated;
///   host.cores, storage.read_bandwidth: as they are, for nothing was fitted to them;
///   all others: what was measured is scaled by faster(), by the ratio to what its cluster states.
/// `notes` receives a sentence for each. Throws ConfigError for an unknown key, a value that cannot
/// be read or is out of range, where a fitted machine has nothing to scale by, and where the figure
/// has no part in how the cluster adds gradients.
Machine with_stated_inputs(Machine machine, std::span<const StatedInput> inputs,
                           std::vector<std::string>& notes);

}  // namespace dlscale::model
