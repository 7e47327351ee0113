# Options common to all targets, and dlscale_library(), which every folder uses.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

option(DLSCALE_WARNINGS_AS_ERRORS "Stop at the first compiler warning" OFF)
set(DLSCALE_SANITIZE "" CACHE STRING "Sanitizers, such as address,undefined or thread")

add_library(dlscale_flags INTERFACE)
target_include_directories(dlscale_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_features(dlscale_flags INTERFACE cxx_std_20)
set(DLSCALE_CXX_OPTIONS -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wno-sign-conversion)
# GCC 12 reports false overlaps and overflows at -O3 where a short literal is assigned to a string or a
# struct with a string is moved (its bugs 105329 and 105651, fixed in 13). Any edit changes the affected
# files. Builds with sanitizers keep the warnings.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  foreach(warning IN ITEMS restrict stringop-overflow stringop-overread array-bounds)
    list(APPEND DLSCALE_CXX_OPTIONS $<$<CONFIG:Release>:-Wno-${warning}>)
  endforeach()
endif()
# Clang warns of loops that it was asked to vectorise and did not, as all are without optimisation.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  list(APPEND DLSCALE_CXX_OPTIONS -Wno-pass-failed)
endif()
# nvcc generates host code that violates -Wpedantic.
set(DLSCALE_CUDA_OPTIONS -Xcompiler=-Wall,-Wextra,-Wshadow)
if(DLSCALE_WARNINGS_AS_ERRORS)
  list(APPEND DLSCALE_CXX_OPTIONS -Werror)
  list(APPEND DLSCALE_CUDA_OPTIONS -Werror=all-warnings -Xcompiler=-Werror)
endif()
if(DLSCALE_SANITIZE)
  # Options of dlscale_flags would come last, but dlscale_spare_optimiser() has to add to these.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${DLSCALE_SANITIZE};-fno-omit-frame-pointer>")
  # Clang cannot check virtual calls and functions of libraries that were built without sanitizers (GoogleTest, NVML).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=vptr,function>")
  endif()
  target_link_options(dlscale_flags INTERFACE -fsanitize=${DLSCALE_SANITIZE})
  # About a hundred test programs are large with sanitizers: mold links them in a fifth, gold in half
  # of the time of GNU ld.
  include(CheckLinkerFlag)
  foreach(linker IN ITEMS mold gold)
    check_linker_flag(CXX -fuse-ld=${linker} DLSCALE_HAS_${linker})
    if(DLSCALE_HAS_${linker})
      target_link_options(dlscale_flags INTERFACE -fuse-ld=${linker})
      break()
    endif()
  endforeach()
  # The data of the checks has millions of pointers (dlscale: 2.6 million). A position-independent
  # program relocates all of them at each start; at a fixed address the linker does it once.
  target_link_options(dlscale_flags INTERFACE "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>")
endif()
# The build id identifies the build of a program (core/system/build_info.hpp); most compilers set it by
# default.
target_link_options(dlscale_flags INTERFACE LINKER:--build-id=sha1)
target_compile_options(dlscale_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${DLSCALE_CXX_OPTIONS}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:${DLSCALE_CUDA_OPTIONS}>")

# Optimisation takes most of the compile time. dlscale_spare_optimiser() limits it for the calling folder, which is for code
# without long loops: to -Og in release builds (a third less time with GCC 12 than -O3) and to -O0 with sanitizers. There it
# also turns off null and alignment checks of every member access, so the code must have no casts of buffers; the address
# sanitizer still stops at null pointers.
if(DLSCALE_SANITIZE)
  set(DLSCALE_SPARED_OPTIONS "$<$<COMPILE_LANGUAGE:CXX>:-O0>" "$<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment>")
  set(DLSCALE_OPTIMISED_OPTION -O1)
else()
  set(DLSCALE_SPARED_OPTIONS "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-Og>")
  set(DLSCALE_OPTIMISED_OPTION $<$<CONFIG:Release>:-O3>)
endif()
macro(dlscale_spare_optimiser)
  add_compile_options(${DLSCALE_SPARED_OPTIONS})
  set(DLSCALE_HEADERS dlscale_spared_headers)
endmacro()

# The same with sanitizers for single files of a folder whose other files compute; they cannot use the folder's
# precompiled headers.
function(dlscale_spare_optimiser_in)
  if(DLSCALE_SANITIZE)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -O0)
    set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# The opposite: optimises single files with long loops in a folder that spares the optimiser.
function(dlscale_optimise_in)
  set_property(SOURCE ${ARGN} PROPERTY DLSCALE_OPTIMISED ON)  # cmake/DlscaleUnity.cmake
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS ${DLSCALE_OPTIMISED_OPTION})
  set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# The folder's precompiled headers (cmake/DlscalePrecompiled.cmake).
set(DLSCALE_HEADERS dlscale_headers)

# dlscale_library(<name> SOURCES <file>... [PUBLIC <target>...] [PRIVATE <target>...])
function(dlscale_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC dlscale_flags ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  dlscale_precompile(${name} ${DLSCALE_HEADERS})
  dlscale_group(${name})
endfunction()
