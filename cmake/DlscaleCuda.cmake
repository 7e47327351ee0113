# The CUDA toolkit with cuDNN: target dlscale::cuda if nvcc and all its libraries are found.
#
# Kernels are built for the architectures below, and as PTX for later ones; -D
# CMAKE_CUDA_ARCHITECTURES=... chooses others. CUDA 13 supports none before 7.5.

include(CheckLanguage)
include(DlscaleNvidia)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "GPUs to build for")
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  return()
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know nvcc 12's option
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit 12 QUIET)
dlscale_find_nvidia(DLSCALE_CUDNN cudnn.h cudnn 9 cudnn 9.0 cudnn_version.h CUDNN)
if(CUDAToolkit_FOUND AND DLSCALE_CUDNN_INCLUDE AND DLSCALE_CUDNN_LIBRARY
   AND TARGET CUDA::cublasLt AND TARGET CUDA::cufft)
  add_library(dlscale::cuda INTERFACE IMPORTED)
  target_include_directories(dlscale::cuda SYSTEM INTERFACE ${DLSCALE_CUDNN_INCLUDE})
  target_link_libraries(dlscale::cuda INTERFACE CUDA::cudart CUDA::cublas CUDA::cublasLt
                                                CUDA::cufft ${DLSCALE_CUDNN_LIBRARY})
endif()
