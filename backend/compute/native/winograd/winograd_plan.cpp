#include "backend/compute/native/winograd/winograd_plan.hpp"

#include <cctype>

namespace dlscale::backend::native_device::winograd {

Tiling::Tiling(int m, Index images, Index out_height, Index out_width, Index channels,
               Schedule schedule, int threads)
    : m_(m),
      threads_(threads),
      schedule_(schedule),
      grid_(convolution::tile_grid(m, out_height, out_width)),
      blocks_(convolution::tile_blocks(grid_, images, alpha(), channels, schedule, threads)),
      strip_stride_(convolution::strip_stride(m, std::min(grid_.columns, blocks_.size))) {}

Index Tiling::strips() const {
  return convolution::strip_elements(m_, std::min(grid_.columns, blocks_.size)) * threads_;
}

void Tiling::read_channel(int thread, ReadTiles transform, TileRange tiles,
                          const Planes<const float>& first, Index channel, const Stack& stack,
                          float* to, float* strips) const {
  Planes<const float> planes = first;
  planes.data += channel * planes.height * planes.width;
  float* strip = strips + this->strips() / threads_ * thread;
  transform(grid_, tiles, planes, strip, strip_stride_, to + channel * stack.stride, stack.size);
}

void Tiling::read(ReadTiles transform, TileRange tiles, const Planes<const float>& first,
                  Index channels, const Stack& stack, float* to, float* strips) const {
  parallel_for(threads_, channels, [&](Index channel, int thread) {
    read_channel(thread, transform, tiles, first, channel, stack, to, strips);
  });
}

void Tiling::read_alone(int thread, ReadTiles transform, TileRange tiles,
                        const Planes<const float>& first, Index channels, const Stack& stack,
                        float* to, float* strips) const {
  for (Index channel = 0; channel < channels; ++channel) {
    read_channel(thread, transform, tiles, first, channel, stack, to, strips);
  }
}

std::string implementation_name(const Kernels& kernels, const Tiling& tiling, int outputs,
                                int taps) {
  std::string set = kernels.instruction_set;
  std::transform(set.begin(), set.end(), set.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto square = [](int side) { return std::to_string(side) + "x" + std::to_string(side); };
  const std::string schedule = tiling.schedule() == Schedule::fused ? "fused " : "";
  return "winograd F(" + square(outputs) + "," + square(taps) + ") " + schedule + set + "+gemm";
}

}  // namespace dlscale::backend::native_device::winograd
