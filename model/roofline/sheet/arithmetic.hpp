#pragma once
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/cluster/device_file.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "model/roofline/sheet/product_time.hpp"

namespace dlscale::model::sheet {

/// The arithmetic that products in a precision may take on a GPU, by its data sheet: ordinary cores
/// first, then tensor cores if it has them for this precision. Requires units and a peak in f32.
std::vector<Arithmetic> arithmetic_in(const Device& device, DType dtype);

/// Arithmetic::board_load by a data sheet:
///   L = peak in f32 / (power · flops_per_joule · (16 nm / process)^exponent)
/// 0 if the sheet states no power or process. [derived from sgemm on boards of 28 to 4 nm]
double board_load(const DeviceSheet& sheet, const KernelConstants& constants);

}  // namespace dlscale::model::sheet
