#pragma once
#include <memory>

#include "backend/compute/native/convolution/convolution.hpp"
#include "core/convolution/tile_blocks.hpp"

/// The passes of Winograd convolution by F(m × m, 3 × 3), m = 2, 4 or 6, for shapes that
/// winograd.cpp has accepted.
namespace dlscale::backend::native_device::winograd {

using lowering::Schedule;

std::unique_ptr<ConvolutionPass> make_forward(const ConvolutionShape& shape, int m,
                                              Schedule schedule, int threads);
std::unique_ptr<ConvolutionPass> make_backward_data(const ConvolutionShape& shape, int m,
                                                    Schedule schedule, int threads);
std::unique_ptr<ConvolutionPass> make_backward_filter(const ConvolutionShape& shape, int m,
                                                      Schedule schedule, int threads);

}  // namespace dlscale::backend::native_device::winograd
