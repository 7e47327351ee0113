#pragma once
#include <array>
#include <filesystem>

#include "model/goodput/training_cost.hpp"
#include "model/goodput/uncertain.hpp"

namespace dlscale::model::goodput {

/// Facts on failures, restarts and power of trainings, with 90 % intervals.
struct FailureFacts {
  /// Failures an hour, each > 0: of a device, of a node without its devices, and of the network's
  /// and the software's part of one device.
  std::array<double, component_count> rate_h{};
  /// Factor on all mean times between failures: the value is 1, and the interval that of published
  /// clusters, exp(mean ± 1.645 s) of the logarithms of their totals over the file's. [derived]
  Uncertain mtbf_scale;
  Uncertain restart_s;         ///< from a failure until training reads its checkpoint
  Uncertain repair_h;          ///< until a failed node is back
  Uncertain write_share;       ///< rate of writing checkpoints over that of reading
  Uncertain node_disk_copies;  ///< of a checkpoint on disks of nodes
  Uncertain computing_power;   ///< shares of the board's power by data sheet
  Uncertain exposed_power;
  Uncertain idle_power;
  Uncertain host_power;  ///< the node's other parts, over its boards' power by data sheet
};

/// Reads a file such as configs/models/failures.yaml. Throws ConfigError.
FailureFacts load_failure_facts(const std::filesystem::path& path);

/// configs/models/failures.yaml, which is read once. Throws ConfigError.
const FailureFacts& failure_facts();

}  // namespace dlscale::model::goodput
