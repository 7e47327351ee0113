#pragma once
#include <string>

namespace dlscale::backend::cuda {

/// GPUs in cuDNN's own description, from the data sheets of NVIDIA: for tests without one.
std::string h200();  ///< compute capability 9.0
std::string a100();  ///< compute capability 8.0

}  // namespace dlscale::backend::cuda
