#include "backend/compute/native/winograd_plan.hpp"

#include <omp.h>

#include <cctype>

namespace dlscale::backend::native_device::winograd {

std::string implementation_name(const Kernels& kernels, int outputs, int taps) {
  std::string set = kernels.instruction_set;
  std::transform(set.begin(), set.end(), set.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto square = [](int side) { return std::to_string(side) + "x" + std::to_string(side); };
  return "winograd F(" + square(outputs) + "," + square(taps) + ") " + set + "+gemm";
}

Tiling::Tiling(int m, Index images, Index out_height, Index out_width, Index channels, int threads)
    : m_(m),
      threads_(threads),
      grid_(lowering::tile_grid(m, out_height, out_width)),
      blocks_(lowering::tile_blocks(grid_, images, alpha(), channels)),
      strip_stride_(lowering::strip_stride(m, std::min(grid_.columns, blocks_.size))) {}

Index Tiling::strips() const {
  return lowering::strip_elements(m_, std::min(grid_.columns, blocks_.size)) * threads_;
}

void Tiling::read(ReadTiles transform, TileRange tiles, const Planes<const float>& first,
                  Index channels, const Stack& stack, float* to, float* strips) const {
  parallel_for(threads_, channels, [&](Index channel, int /*thread*/) {
    Planes<const float> planes = first;
    planes.data += channel * planes.height * planes.width;
    float* strip = strips + this->strips() / threads_ * omp_get_thread_num();
    transform(grid_, tiles, planes, strip, strip_stride_, to + channel * stack.stride, stack.size);
  });
}

}  // namespace dlscale::backend::native_device::winograd
