# Finds every dependency once. Optional ones follow DLSCALE_WITH_<X> = AUTO | ON | OFF: AUTO uses an
# installed library, ON fails without it, OFF leaves it out.

# Each optional library, and the target that exists if it was found.
set(DLSCALE_OPTIONAL "ONEDNN|DNNL::dnnl" "HIGHWAY|PkgConfig::HIGHWAY" "MPI|MPI::MPI_CXX" "HWLOC|PkgConfig::HWLOC"
                     "FFTW|PkgConfig::FFTW" "MKL|dlscale::mkl" "CUDA|dlscale::cuda" "NCCL|dlscale::nccl")

# dlscale_option(<name> <doc> [<default>]): AUTO unless <default> says otherwise.
function(dlscale_option name doc)
  set(default AUTO)
  if(ARGC GREATER 2)
    set(default ${ARGV2})
  endif()
  set(DLSCALE_WITH_${name} ${default} CACHE STRING "${doc}: AUTO, ON or OFF")
  set_property(CACHE DLSCALE_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  if(NOT DLSCALE_WITH_${name} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "DLSCALE_WITH_${name} is \"${DLSCALE_WITH_${name}}\". Write AUTO, ON or OFF.")
  endif()
endfunction()

# dlscale_found(<name> <target> <package to install>): stops if <name> is ON and <target> is missing.
function(dlscale_found name target hint)
  if(DLSCALE_WITH_${name} STREQUAL "ON" AND NOT TARGET ${target})
    message(FATAL_ERROR "DLSCALE_WITH_${name} is ON, but ${target} was not found. Install ${hint}, "
                        "or set DLSCALE_WITH_${name} to AUTO or OFF.")
  endif()
endfunction()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp)  # yaml-cpp before 0.8 has no namespace
  add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)
  target_link_libraries(yaml-cpp::yaml-cpp INTERFACE yaml-cpp)
endif()
find_package(nlohmann_json REQUIRED)
find_package(benchmark REQUIRED)
find_package(JPEG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
# Not by pkg-config: its -pthread defines a macro that precompiled headers were not made with.
find_path(DLSCALE_RE2_INCLUDE re2/re2.h REQUIRED)
find_library(DLSCALE_RE2_LIBRARY re2 REQUIRED)
add_library(dlscale::re2 UNKNOWN IMPORTED)
set_target_properties(dlscale::re2 PROPERTIES
  IMPORTED_LOCATION ${DLSCALE_RE2_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${DLSCALE_RE2_INCLUDE})
if(BUILD_TESTING OR NOT DEFINED BUILD_TESTING)
  find_package(GTest REQUIRED)
endif()

dlscale_option(ONEDNN "oneDNN compute backend")
dlscale_option(HIGHWAY "Our own convolutions on processors, on Highway and oneDNN")
dlscale_option(MPI "MPI communicator")
dlscale_option(HWLOC "Detection of the local machine and binding by hwloc")

dlscale_option(CUDA "CUDA compute backend, with cuDNN, cuBLAS and cuFFT")
dlscale_option(NCCL "NCCL communicator")

if(NOT DLSCALE_WITH_CUDA STREQUAL "OFF")
  include(DlscaleCuda)
endif()
dlscale_found(CUDA dlscale::cuda "the CUDA toolkit (12 or later) with nvcc on the PATH and a \
host compiler that it takes, and cuDNN 9 (of the system, or of PyTorch's packages)")
if(NOT DLSCALE_WITH_NCCL STREQUAL "OFF" AND TARGET dlscale::cuda)
  # NCCL 2.22 introduced ncclGroupSimulateEnd.
  dlscale_find_nvidia(DLSCALE_NCCL nccl.h nccl 2 nccl 2.22 nccl.h NCCL)
  if(DLSCALE_NCCL_INCLUDE AND DLSCALE_NCCL_LIBRARY)
    add_library(dlscale::nccl UNKNOWN IMPORTED)
    set_target_properties(dlscale::nccl PROPERTIES
      IMPORTED_LOCATION ${DLSCALE_NCCL_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${DLSCALE_NCCL_INCLUDE}
      INTERFACE_LINK_LIBRARIES dlscale::cuda)
  endif()
endif()
dlscale_found(NCCL dlscale::nccl "NCCL 2.22 or later (libnccl-dev, or of PyTorch's packages), and the CUDA toolkit")

if(NOT DLSCALE_WITH_ONEDNN STREQUAL "OFF")
  # Debian's dnnl-config.cmake needs OpenCL headers that its package lacks, so it is not used.
  find_package(OpenMP QUIET COMPONENTS CXX)
  find_path(DLSCALE_ONEDNN_INCLUDE dnnl.hpp PATH_SUFFIXES include)
  find_library(DLSCALE_ONEDNN_LIBRARY dnnl)
  if(DLSCALE_ONEDNN_INCLUDE AND DLSCALE_ONEDNN_LIBRARY AND TARGET OpenMP::OpenMP_CXX)
    add_library(DNNL::dnnl UNKNOWN IMPORTED)
    set_target_properties(DNNL::dnnl PROPERTIES
      IMPORTED_LOCATION ${DLSCALE_ONEDNN_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${DLSCALE_ONEDNN_INCLUDE}
      INTERFACE_LINK_LIBRARIES OpenMP::OpenMP_CXX)
  endif()
endif()
dlscale_found(ONEDNN DNNL::dnnl "libdnnl-dev")

if(NOT DLSCALE_WITH_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX TRUE)
  find_package(MPI QUIET COMPONENTS CXX)
endif()
dlscale_found(MPI MPI::MPI_CXX "libopenmpi-dev or libmpich-dev")

if(NOT DLSCALE_WITH_HWLOC STREQUAL "OFF")
  pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc)
endif()
dlscale_found(HWLOC PkgConfig::HWLOC "libhwloc-dev")

if(NOT DLSCALE_WITH_HIGHWAY STREQUAL "OFF" AND TARGET DNNL::dnnl)
  pkg_check_modules(HIGHWAY QUIET IMPORTED_TARGET libhwy)
endif()
dlscale_found(HIGHWAY PkgConfig::HIGHWAY "libhwy-dev and libdnnl-dev")

# FFTW is off by default: under its GPL the program may only be distributed under the GPL.
dlscale_option(FFTW "Convolutions by FFTW's transforms, to compare with ours" OFF)
if(NOT DLSCALE_WITH_FFTW STREQUAL "OFF" AND TARGET PkgConfig::HIGHWAY)
  pkg_check_modules(FFTW QUIET IMPORTED_TARGET fftw3f)
endif()
dlscale_found(FFTW PkgConfig::FFTW "libfftw3-dev, and what DLSCALE_WITH_HIGHWAY needs")

# Intel's oneMKL is off by default: it may be redistributed, but is not open source.
dlscale_option(MKL "Convolutions by the transforms of Intel's oneMKL, to compare with ours" OFF)
if(NOT DLSCALE_WITH_MKL STREQUAL "OFF" AND TARGET PkgConfig::HIGHWAY)
  include(DlscaleMkl)
endif()
dlscale_found(MKL dlscale::mkl "Intel's oneMKL, so new that it has DFTI_FWD_STRIDES, as 2026.2 (mkl-devel of \
PyPI or conda, its folder in CMAKE_PREFIX_PATH; or oneAPI's, with MKLROOT set), and what DLSCALE_WITH_HIGHWAY needs")
