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
# GCC 12 finds overlaps and overflows at -O3 wherever a short literal is assigned to a string or a struct with one is moved, and
# there are none (its bugs 105329 and 105651, mended in 13). Which files, any edit changes. Builds with sanitizers keep the warnings.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  foreach(warning IN ITEMS restrict stringop-overflow stringop-overread array-bounds)
    list(APPEND DLSCALE_CXX_OPTIONS $<$<CONFIG:Release>:-Wno-${warning}>)
  endforeach()
endif()
# nvcc writes code for the host's compiler that is not pedantic.
set(DLSCALE_CUDA_OPTIONS -Xcompiler=-Wall,-Wextra,-Wshadow)
if(DLSCALE_WARNINGS_AS_ERRORS)
  list(APPEND DLSCALE_CXX_OPTIONS -Werror)
  list(APPEND DLSCALE_CUDA_OPTIONS -Werror=all-warnings -Xcompiler=-Werror)
endif()
if(DLSCALE_SANITIZE)
  # Not by dlscale_flags, whose options come last: dlscale_spare_optimiser() adds to these.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${DLSCALE_SANITIZE};-fno-omit-frame-pointer>")
  target_link_options(dlscale_flags INTERFACE -fsanitize=${DLSCALE_SANITIZE})
  # There are about a hundred test programs, large with sanitizers: mold takes a fifth, gold half of the time of GNU ld.
  include(CheckLinkerFlag)
  foreach(linker IN ITEMS mold gold)
    check_linker_flag(CXX -fuse-ld=${linker} DLSCALE_HAS_${linker})
    if(DLSCALE_HAS_${linker})
      target_link_options(dlscale_flags INTERFACE -fuse-ld=${linker})
      break()
    endif()
  endforeach()
  # What the checks say has pointers by the million (dlscale: 2.6 million), which are all written at each start of a program
  # that may lie anywhere in memory; at a fixed address the linker has done it.
  target_link_options(dlscale_flags INTERFACE "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>")
endif()
# By which a program knows its own build (core/system/build_id.hpp); of most compilers the default.
target_link_options(dlscale_flags INTERFACE LINKER:--build-id=sha1)
target_compile_options(dlscale_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${DLSCALE_CXX_OPTIONS}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:${DLSCALE_CUDA_OPTIONS}>")

# With sanitizers the compiler takes most of its time to optimise and to check every access to a member for null pointers
# and alignment. For the folder that calls this: code in which no loop computes for long and no buffer is cast; a null
# pointer stops it by the address sanitizer, too.
if(DLSCALE_SANITIZE)
  set(DLSCALE_SPARED_OPTIONS "$<$<COMPILE_LANGUAGE:CXX>:-O0>" "$<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment>")
endif()
macro(dlscale_spare_optimiser)
  add_compile_options(${DLSCALE_SPARED_OPTIONS})
  set(DLSCALE_HEADERS dlscale_spared_headers)
endmacro()

# The same for single files of a folder whose other files do compute. The folder's precompiled headers do not fit them.
function(dlscale_spare_optimiser_in)
  if(DLSCALE_SANITIZE)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -O0)
    set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# The opposite: single files with long loops, of a folder that spares the optimiser.
function(dlscale_optimise_in)
  if(DLSCALE_SANITIZE)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -O1)
    set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# The precompiled headers (cmake/DlscalePrecompiled.cmake) of the folder.
set(DLSCALE_HEADERS dlscale_headers)

# Whether files are compiled in groups (cmake/DlscaleUnity.cmake). AUTO, what CI and the README's test command take, does not
# ask for ccache: an empty one would cost a whole build of single files, twice the time.
set(DLSCALE_UNITY AUTO CACHE STRING "Compile files in groups: AUTO (with sanitizers), ON (kept by ccache, if there is one) or OFF")
set_property(CACHE DLSCALE_UNITY PROPERTY STRINGS AUTO ON OFF)
if(NOT DLSCALE_UNITY MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "DLSCALE_UNITY is \"${DLSCALE_UNITY}\". Write AUTO, ON or OFF.")
endif()
find_package(Python3 QUIET COMPONENTS Interpreter)
if(DLSCALE_UNITY STREQUAL "ON" AND NOT Python3_FOUND)
  message(FATAL_ERROR "DLSCALE_UNITY is ON, but Python, which chooses the groups, was not found. Install python3, "
                      "or set DLSCALE_UNITY to AUTO or OFF.")
endif()
set(DLSCALE_GROUPS OFF)
set(dlscale_keep_compiled ON)
if(DLSCALE_UNITY STREQUAL "ON")
  set(DLSCALE_GROUPS ON)
elseif(DLSCALE_UNITY STREQUAL "AUTO" AND DLSCALE_SANITIZE AND Python3_FOUND)
  set(DLSCALE_GROUPS ON)
  set(dlscale_keep_compiled OFF)
endif()

find_program(DLSCALE_CCACHE ccache)
if(DLSCALE_CCACHE AND dlscale_keep_compiled AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${DLSCALE_CCACHE})
endif()

# dlscale_library(<name> SOURCES <file>... [PUBLIC <target>...] [PRIVATE <target>...])
function(dlscale_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC dlscale_flags ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  dlscale_precompile(${name} ${DLSCALE_HEADERS})
  dlscale_group(${name})
endfunction()
