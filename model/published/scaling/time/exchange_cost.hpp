#pragma once
#include "core/base/units.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/published/scaling/time/exposed.hpp"
#include "model/published/scaling/time/parameters.hpp"

namespace dlscale::model::scaling {

/// What it takes to exchange all gradients once, before any overlap.
struct ExchangeCost {
  MessageCost messages = {};
  /// Kernels of the GPU do it, which compete with those that compute.
  bool on_gpu = true;
};

/// Of ≥ 2 GPUs. With N GPUs on n nodes of k each, M bytes of gradients, and effective bandwidths
/// B₁ within and B of a node,
///   all-reduce      t₁ = 2 (N-1)/N M / B₁,  t = 2 (N-1)/N M / B
///                   transfer = t₁ on one node, else (t₁³ + t³)^(1/3)
///                   startup  = min{ ring 2 (n α + (N-n) α₁),  tree 4 lg n α + 4 (k-1) α₁ }
///   MPI over hosts  transfer = 2 (k-1)/k M / B₁ + 2 (n-1)/n M / (B / 2) + 2 M / B_host
///   servers         transfer = 2 (N-1)/N M / B_s on one node, else M_n / min{B_s, e_s B}
///                   M_n = (n-1) m + M - m, 2 (n-1)/n M if all servers keep m = M / n
///   B               (line⁻³ + cards⁻³)^(-1/3), by TCP at most 3 GB/s
///                   line = e_line B_nominal,  cards = e_card c max{15.75 GB/s, 1.26 B_nominal / c}
/// of which one flat ring over the slowest link is the limit (MODEL 1.14): the third power joins
/// two links through which the same bytes pass one after the other, is the slower one's time where
/// one is much slower, and 26 % more where they are alike and neither can wait for the other's
/// unevenness. [derived; its power is a judgement] B₁ of PCIe grows by a power of the nominal rate;
/// of NVLink's cube mesh two GPUs use a third and four use two thirds; NCCL 1 has one ring, over
/// one link of each GPU (its source: a communicator knows one order of the GPUs).
/// [github.com/NVIDIA/ nccl, src/core.h of 2016] Whatever the network, c cards pass what their
/// slots let them: 100 Gb/s is 0.79 of PCIe 3.0 x16, as 200 of 4.0 and 400 of 5.0. TCP goes the
/// same way and carries at most 3 GB/s of a node, so that RDMA is never slower. M_n passes the link
/// of the busiest node, each being a server: what the others push to the m bytes that it keeps, and
/// what it pulls of the rest (3.19). m is by the framework's rule, or even where that or the layers
/// are not known (Layout::busiest_server). Wrong for fabrics that sum in the network and for
/// several cards that are not used alike.
ExchangeCost exchange_cost(const TrainingFacts& facts, const Layout& layout,
                           const Parameters& parameters);

/// Whether gradients pass between nodes by TCP, over whatever links.
bool over_tcp(const TrainingFacts& facts);

/// Between a GPU and memory of the host.
BytesPerSecond to_host(const TrainingFacts& facts, const Parameters& parameters);

}  // namespace dlscale::model::scaling
