#pragma once
#include "core/base/units.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "model/roofline/sheet/products.hpp"

namespace dlscale::model::sheet {

/// One kind of arithmetic of a device in one precision, by its data sheet.
struct Arithmetic {
  double units = 1;            ///< S, multiprocessors
  double flops_per_clock = 1;  ///< F, of one multiprocessor
  double base_clock = 1;       ///< guaranteed, in Hz
  double peak_clock = 1;       ///< of the peak, in Hz
  double issue = 1;            ///< part of the cores that a multiprocessor feeds each clock
  /// Peak in f32 over what the board's power sustains, > 0; 0: unknown, which does not slow down.
  double board_load = 0;
  BytesPerSecond bandwidth;  ///< of memory
  double element_bytes = 4;  ///< s
  bool tensor_cores = false;
};

/// Time of a product without its launch, on S multiprocessors that take it in tiles:
///   t_c    = min over tiles (b_m, b_n) and splits σ of the depth:
///            ⌈g ⌈m/b_m⌉ ⌈n/b_n⌉ σ / S⌉ · (2 b_m b_n ⌈k/σ⌉ / rate · (1 + shared) + start / clock)
///            + 8 g m n min(σ, 8) bytes / (e_m B)            where split: k/σ ≥ 64
///   clock  = f_base^(1 - w) f_peak^w
///   rate   = F · clock · e                                  e: efficiency of this kind of product
///   shared = reads · F s (1/b_m + 1/b_n) / (2 · 128)        flop a clock against shared memory
///   t_m    = elements · s / (e_m B)
///   t      = (t_c^p + t_m^p)^(1/p)
/// Libraries of age a take t_c / old^a for convolutions, on tensor cores t_c / old^(2 a). Minimal
/// filtering divides t_c on ordinary cores instead, where that is quicker. Depths of convolutions
/// on tensor cores count in multiples of 8 channels; the gradient of data of strided convolutions
/// reaches a part of the rate. Products alone have a clock that power limits: · (1 +
/// L^4)^(-board/4), L the board's load, and other reads on tensor cores (alone()). Direct
/// convolutions, of few channels a group, load an operand from shared memory for each multiply-add,
/// and compute without tiles:
///   t_c    = g m n k s / (S · 128 · clock)
/// Symbols are those of KernelConstants and Arithmetic. [tiles and waves: NVIDIA, "Matrix
/// multiplication background user's guide"; constants and their sources:
/// configs/models/kernels.yaml] Wrong by a fifth for single kernels, either way: libraries choose
/// among algorithms that this does not know. Whole trainings average most of it. Requires age ≥ 0.
Seconds product_time(const Product& product, const Arithmetic& arithmetic, double age,
                     const KernelConstants& constants);

/// Time of the copies of a convolution's images to the layout that tensor cores take, and back:
///   copies · activations · s / (e_m B)        [copies: each is read and written once more]
/// 0 for other products.
Seconds layout_time(const Product& product, const Arithmetic& arithmetic,
                    const KernelConstants& constants);

}  // namespace dlscale::model::sheet
