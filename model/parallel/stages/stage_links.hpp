#pragma once
#include <vector>

#include "core/base/units.hpp"
#include "core/parallel/plan.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// The link that messages between two neighbouring stages cross.
struct StageLink {
  Seconds start;
  SecondsPerByte per_byte;
  bool between_nodes = false;
  [[nodiscard]] Seconds time(Bytes message) const { return start + message * per_byte; }
};

/// The link from each part to the next: part p lies on stage p mod S. Where any copy of the network
/// crosses to another node, all wait for that link, which the copies of a node share if they send
/// at once. [estimate_link(): measured messages between two ranks, else the data sheet at line
/// rate] Throws ConfigError where the machine states no such link.
std::vector<StageLink> stage_links(const Machine& machine, const Run& run,
                                   const parallel::ParallelPlan& plan);

/// The link between neighbours along the context axis, in the same way. Requires context ≥ 2.
StageLink strip_link(const Machine& machine, const Run& run, const parallel::ParallelPlan& plan);

}  // namespace dlscale::model
