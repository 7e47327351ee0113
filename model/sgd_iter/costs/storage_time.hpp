#pragma once
#include <optional>

#include "core/base/units.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Mean size of an ImageNet image, for which Host::decode and the data sets of `dlscale data make`
/// hold. [MODEL §9: 114,660 B a TFRecord, of which some is not image]
inline constexpr Bytes picture_size(110e3);

/// (9.2), (9.6): time until storage has delivered a batch to every rank that shares it.
/// Measurements on one node include its storage, but not a server that several nodes share. A node
/// reads from a server no faster than its path to other nodes. 0 where the cluster does not state
/// the rate of storage.
Seconds storage_time(const Machine& machine, const Placement& placement, int batch);

/// The shared server as bytes and rates, where nodes share one and it takes any time.
std::optional<SharedStorage> shared_storage(const Machine& machine, const Placement& placement,
                                            int batch);

}  // namespace dlscale::model
