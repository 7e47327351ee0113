#pragma once
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/parallel/plan.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// Spatial parallelism: the ranks of a plan along its context axis share every image, a strip of
/// rows each. [OSU-Nowlab/MPI4DL, the spatial parallelism of GEMS's authors]

/// The network as each of `strips` ≥ 1 ranks computes it: for images of ⌈H / strips⌉ rows. A
/// filter's padding stands for the rows that it reads of its neighbours. Throws ConfigError for
/// sequences, for networks with a layer_of_all_pixels(), for more strips than a map that a filter
/// of several rows reads has rows, and for strips too low for a layer.
Network strip_of(const Network& network, int strips);

/// By layer: time in which a rank receives the rows that the layer reads of neighbouring strips, of
/// run.batch images, one way:
///   start + n (R - 1)/2 W C N e / B,   n = 2 neighbours, 1 where there are two strips
/// for a filter of R rows over W columns of C channels, N images and e bytes an element. Backward
/// returns the gradients of as many. [D] Where any strip has a neighbour on another node, all wait
/// for that link, which the pairs that leave a node share. Nothing hides the messages, and batch
/// norm takes the statistics of each strip by itself. `strip` is strip_of() of the network. Throws
/// ConfigError where the machine states no such link.
std::vector<Seconds> strip_messages(const Network& strip, const Machine& machine, const Run& run,
                                    const parallel::ParallelPlan& plan);

/// By layer: rows of a strip's output with those of neighbours that it keeps (kept_rows()), over
/// the rows alone. `strip` is strip_of() of the network `whole`.
std::vector<double> kept_with_neighbours(const Network& whole, const Network& strip, int strips);

}  // namespace dlscale::model
