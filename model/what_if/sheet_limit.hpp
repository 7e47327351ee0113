#pragma once
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"

namespace dlscale::model {

/// Samples a second of a run on hardware that reaches its data sheet:
///   n b / (F + max(B, R) + U)
/// for n ranks with b samples each. F and B are the forward and backward passes under the roofline,
///   Σ max(f / π, q / β),   f, q: operations and bytes that a step declares  [Williams et al. 2009]
/// where minimal filtering F(2×2, r×r) saves multiplications (products_of()), f is less by them. U
/// is the update at β, and R the quickest all-reduce of all gradients as one message, with links at
/// their stated rates and start-ups (nominal_all_reduces()). Nothing is launched or read, and R
/// hides behind B as far as it goes. Real trainings stay below by a factor of 2 or so. Wrong where
/// a library needs fewer operations still, as larger tiles of Winograd do: it may come out faster.
/// The cluster's figures count, not measurements. Throws ConfigError where they lack a peak in the
/// precision, a bandwidth of memory, or that of a link which the ranks use.
double sheet_limit(const Network& network, const Cluster& cluster, const Run& run);

}  // namespace dlscale::model
