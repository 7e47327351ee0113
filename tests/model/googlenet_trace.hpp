#pragma once
#include <vector>

#include "core/base/units.hpp"
#include "core/network/merge.hpp"

namespace dlscale::model {

/// A layer with parameters of a published trace: how many, and what it adds to backward.
struct TracedLayer {
  double parameters;
  double backward_us;
};

/// GoogLeNet on a K80 with a batch of 64, in order of execution: the last layer first.
/// [shyhuai/B-Caffe scripts/gmwfbp.py, the trace of its simulations]
inline constexpr TracedLayer googlenet_k80[] = {
    {1025024, 461.088}, {106624, 2564.19},  {153728, 1250.91}, {40000, 1420.0},   {663936, 2355.17},
    {159936, 3467.62},  {319872, 2876.35},  {106624, 2499.81}, {102528, 1015.55}, {26688, 1212.67},
    {461120, 2036.86},  {133312, 3214.59},  {213248, 3990.82}, {67712, 3296.7},   {102528, 2581.73},
    {16960, 3048.51},   {461120, 5166.24},  {84672, 4642.24},  {135424, 5788.32}, {1025024, 469.76},
    {2098176, 703.968}, {67712, 1424.9},    {32832, 2292.83},  {51264, 1556.86},  {16448, 1745.82},
    {373568, 4892.67},  {73920, 3884.7},    {57472, 2735.94},  {32832, 2246.59},  {38464, 1461.28},
    {12352, 1673.63},   {295168, 3534.24},  {65664, 3116.74},  {65664, 3096.32},  {32832, 2221.54},
    {38464, 1612.45},   {12352, 1793.25},   {226048, 3050.18}, {57472, 2911.97},  {82112, 4075.14},
    {1025024, 460.512}, {2098176, 703.008}, {65664, 1476.58},  {30784, 2137.12},  {19264, 871.456},
    {7744, 1470.69},    {179968, 5296.16},  {46208, 2681.41},  {92352, 4733.76},  {16448, 3380.64},
    {76928, 3101.5},    {8256, 2643.9},     {221376, 7513.63}, {32896, 4242.4},   {32896, 4329.54},
    {6208, 2047.23},    {12864, 1119.52},   {3136, 1952.83},   {110720, 6052.77}, {18560, 3080.61},
    {12352, 2641.02},   {110784, 21038.8},  {4160, 3825.38},   {9472, 15143.7}};

/// The all-reduce of their simulations on n nodes of `parameters` floats. [the same file]
inline Seconds googlenet_all_reduce(int n, double parameters) {
  const double bandwidth = 9.0 * (1 << 30) / 8;
  const double bytes = 4 * parameters;
  return Seconds(2 * n * 45.25e-6 + 2.0 * (n - 1) / n * bytes * 1.2 / bandwidth +
                 1.0 * (n - 1) / n * bytes * 160 / 6.4e10);
}

/// The same as a + b M.
inline LinearCost googlenet_cost(int n) {
  const double a = 2 * n * 45.25e-6;
  return {Seconds(a), SecondsPerByte((googlenet_all_reduce(n, 1).si() - a) / 4)};
}

/// What each layer adds to backward.
inline std::vector<Seconds> googlenet_backward() {
  std::vector<Seconds> result;
  for (const TracedLayer& layer : googlenet_k80) result.emplace_back(layer.backward_us * 1e-6);
  return result;
}

inline std::vector<ReadyGradient> googlenet_gradients() {
  std::vector<ReadyGradient> result;
  Seconds computed;
  for (const TracedLayer& layer : googlenet_k80) {
    computed += Seconds(layer.backward_us * 1e-6);
    result.push_back({computed, Bytes(4 * layer.parameters)});
  }
  return result;
}

}  // namespace dlscale::model
