# Intel's oneMKL: target dlscale::mkl, if its header and libraries are there.
#
# Looked for below MKLROOT, which oneAPI's setvars.sh sets, and below CMAKE_PREFIX_PATH: the environment into which pip or
# conda installed mkl-devel. Not by its MKLConfig.cmake, which not all of these bring. Of its layers the one for integers
# of 32 bits, and the one without threads, as threads of ours call it.

find_path(DLSCALE_MKL_INCLUDE mkl_dfti.h HINTS ENV MKLROOT PATH_SUFFIXES include include/mkl)
set(layouts_by_domain "")
if(DLSCALE_MKL_INCLUDE)  # older ones describe layouts in another way, which newer ones give up
  file(STRINGS ${DLSCALE_MKL_INCLUDE}/mkl_dfti.h layouts_by_domain REGEX "DFTI_FWD_STRIDES *=")
endif()
set(layers "")
foreach(layer IN ITEMS intel_lp64 sequential core)
  find_library(DLSCALE_MKL_${layer} NAMES mkl_${layer} libmkl_${layer}.so.3 libmkl_${layer}.so.2
               HINTS ENV MKLROOT PATH_SUFFIXES lib lib/intel64)
  list(APPEND layers ${DLSCALE_MKL_${layer}})
endforeach()
if(layouts_by_domain AND DLSCALE_MKL_intel_lp64 AND DLSCALE_MKL_sequential AND DLSCALE_MKL_core)
  add_library(dlscale::mkl INTERFACE IMPORTED)
  target_include_directories(dlscale::mkl SYSTEM INTERFACE ${DLSCALE_MKL_INCLUDE})
  # The layers call one another without saying so, so that none may be left out as unused.
  target_link_libraries(dlscale::mkl INTERFACE -Wl,--push-state,--no-as-needed ${layers} -Wl,--pop-state)
endif()
