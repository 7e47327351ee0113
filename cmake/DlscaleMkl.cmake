# Intel's oneMKL: target dlscale::mkl if its header and libraries are found.
#
# It is searched below MKLROOT, which oneAPI's setvars.sh sets, and below CMAKE_PREFIX_PATH, the
# environment into which pip or conda installed mkl-devel. MKLConfig.cmake is not used, since not all
# of these have it. The layers are those with 32-bit integers and without threads, since dlscale's
# own threads call it.

find_path(DLSCALE_MKL_INCLUDE mkl_dfti.h HINTS ENV MKLROOT PATH_SUFFIXES include include/mkl)
set(layouts_by_domain "")
if(DLSCALE_MKL_INCLUDE)  # older versions describe layouts differently, and newer ones dropped that
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
  # The layers call one another without declaring it, so none may be dropped as unused.
  target_link_libraries(dlscale::mkl INTERFACE -Wl,--push-state,--no-as-needed ${layers} -Wl,--pop-state)
endif()
