#pragma once
#include <string>
#include <vector>

#include "core/parallel/schedule/schedule.hpp"

namespace dlscale::parallel {

/// Parts of schedules. Members state in which order each rank computes; with_messages() adds the
/// rest.

/// Operations of one rank, computing alone.
using Computing = std::vector<Operation>;

constexpr Operation forward(int part, int micro_batch) {
  return {OperationKind::forward, part, micro_batch};
}
constexpr Operation backward(int part, int micro_batch) {
  return {OperationKind::backward, part, micro_batch};
}

/// The lists with messages between parts on different ranks: a receive just before the operation
/// that reads it, a send just after the one that made it. Each part is reduced after its last
/// backward on the rank, and updated at the end. With two copies, reduces come at the end in the
/// order of parts, so that ranks that hold the same parts agree on it.
Schedule with_messages(const PipelineShape& shape, const std::vector<Computing>& ranks,
                       int copies = 1);

/// "takes one chunk per stage", or nothing if the shape has one.
std::string one_chunk_per_stage(const PipelineShape& shape);

}  // namespace dlscale::parallel
