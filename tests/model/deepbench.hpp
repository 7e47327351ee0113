#pragma once
#include <array>

namespace dlscale::model {

/// Best all-reduce of NCCL 2 on TitanX Pascal of one node, ms by number of floats.
/// [baidu-research/DeepBench results/train/DeepBench_NV_TitanX_Pascal.xlsx]
struct DeepBench {
  int ranks;
  std::array<double, 7> milliseconds;
};
inline constexpr std::array<double, 7> deep_bench_floats{100000,   3097600,  4194304, 6553600,
                                                         16777216, 38360000, 64500000};
inline constexpr std::array deep_bench{
    DeepBench{2, {0.06187237, 1.03765, 1.3961, 2.17145, 5.50865, 12.54155, 21.0748}},
    DeepBench{4, {0.091706225, 1.67035, 2.25735, 3.50135, 8.9752, 20.45305, 34.42895}},
    DeepBench{8, {0.1502334, 2.4847885, 3.3682315, 5.24775, 13.42385, 30.5485, 51.29075}}};

}  // namespace dlscale::model
