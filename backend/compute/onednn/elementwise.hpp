#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/compute/compute.hpp"

/// The loops between the operations, on the OpenMP threads of the caller.
namespace dlscale::backend::onednn_device {

void add(std::size_t n, const float* value, float* into);
void add_bfloat16(std::size_t n, const std::uint16_t* value, std::uint16_t* into);
/// into = max(Σ terms, 0), added in f32. Requires at least two terms of n elements each.
void add_and_rectify(std::size_t n, std::span<std::byte* const> terms, std::byte* into);
void add_and_rectify_bfloat16(std::size_t n, std::span<std::byte* const> terms, std::byte* into);
/// See ComputeDevice::update.
void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
            float* momentum, std::uint16_t* low);

}  // namespace dlscale::backend::onednn_device
