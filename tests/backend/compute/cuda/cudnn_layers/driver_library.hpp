#pragma once

namespace dlscale::backend::cuda {

/// Loads the library of NVIDIA's driver or, where there is no driver, the one of the toolkit that
/// stands for it when programs are linked. cuDNN's engines that are compiled for a graph say
/// whether they support it only with that library loaded. False if neither is there.
bool load_driver_library();

}  // namespace dlscale::backend::cuda
