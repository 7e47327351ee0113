#pragma once
#include <array>
#include <cstddef>

namespace dlscale::model::nccl {

// The constants of NCCL's cost model. [NCCL 2.30, src/graph/tuning.cc at 5067397]
// Times in µs, bandwidths in GB/s; rows by algorithm (tree, ring, NVLS, NVLS tree, PAT) or by
// generation of GPUs (Volta, Ampere, Hopper, Blackwell), columns by protocol (LL, LL128, simple) or
// by nodes (1, 2, more).

template <std::size_t rows>
using Table = std::array<std::array<double, 3>, rows>;

/// Start-up time of a collective.
inline constexpr Table<5> base_latency{
    {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {}, {}, {8.0, 8.0, 8.0}}};
/// Time of a step over NVLink, over PCIe, and over the network.
inline constexpr Table<5> nvlink_latency{
    {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4.0}}};
inline constexpr Table<5> pcie_latency{{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {}, {}, {0, 0, 4.0}}};
inline constexpr Table<5> network_latency{
    {{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14.0}}};

/// Bandwidth limit of protocol LL: on one node by the GPU, on several by the host (first row for
/// Intel and others, second for AMD).
inline constexpr Table<4> most_ll{
    {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}};
// Bandwidth limits of a channel.
inline constexpr Table<4> most_ring_ll128{
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {40.0, 40.0, 40.0}}};
inline constexpr Table<4> most_tree_ll128{
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}};
inline constexpr Table<4> most_tree{
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}};
inline constexpr Table<4> most_nvls_tree{
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 80.0}}};

/// The part of the links' bandwidth that NVLS reaches, by generation.
inline constexpr std::array<double, 4> nvls_efficiency{0, 0, 0.85, 0.74};

/// The part of their bandwidth that trees reach for messages of 64 B, 128 B, … 128 MiB and more, by
/// protocol; NCCL assumes full bandwidth beyond the 23rd.
inline constexpr std::array<std::array<double, 23>, 3> tree_correction{{
    {1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7,  .7,  .7,  .6, .5,
     .4,  .4,  .5,  .6,  .7, .8, .9, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7,  .6, .6,
     .6,  .6,  .6,  .6,  .8,  .9, .9, .9, .9, 1.0, 1.0},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}};

}  // namespace dlscale::model::nccl
