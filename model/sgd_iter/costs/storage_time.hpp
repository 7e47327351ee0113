#pragma once
#include <optional>

#include "core/base/units.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Mean size of an ImageNet picture; Host::decode and the data sets of `dlscale data make` are for
/// it. [MODEL §9: 114,660 B a TFRecord, of which some is not picture]
inline constexpr Bytes picture_size(110e3);

/// (9.2), (9.6): until storage has delivered a batch to every rank that shares it. What was
/// measured on one node includes its storage; a server that several nodes share is not in it. A
/// node reads from a server no faster than its path to other nodes lets it. 0 where the cluster
/// does not say how fast storage is.
Seconds storage_time(const Machine& machine, const Placement& placement, int batch);

/// The same as what is read over what, where nodes share a server and it takes any time.
std::optional<SharedStorage> shared_storage(const Machine& machine, const Placement& placement,
                                            int batch);

}  // namespace dlscale::model
