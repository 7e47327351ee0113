#include "tests/backend/compute/cuda/cudnn_layers/driver_library.hpp"

#include <dlfcn.h>

namespace dlscale::backend::cuda {

bool load_driver_library() {
  return dlopen("libcuda.so.1", RTLD_NOW) != nullptr ||
         dlopen(DLSCALE_CUDA_DRIVER, RTLD_NOW | RTLD_GLOBAL) != nullptr;
}

}  // namespace dlscale::backend::cuda
