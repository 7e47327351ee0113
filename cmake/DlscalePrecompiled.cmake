# A third of each file's compile time is headers of the standard library and of fmt, in tests GoogleTest's too. They
# are compiled once where nothing keeps what was compiled: ccache cannot keep what includes a precompiled header unless
# it is told to be sloppy, and is worth more. A file must still include what it uses; builds with ccache show it.
#
# GCC only: it reads the headers themselves in files that are compiled with other options; Clang refuses such files.

set(DLSCALE_COMMON_HEADERS <algorithm> <array> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory>
                           <optional> <set> <span> <string> <string_view> <utility> <vector> <fmt/format.h>)

# dlscale_precompiled_headers(<name> HEADERS <header>... [LINK <target>...] [SPARED]): what dlscale_precompile() reuses.
# SPARED: with the options of dlscale_spare_optimiser().
function(dlscale_precompiled_headers name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SPARED" "" "HEADERS;LINK")
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/generated/${name}.cpp)
  target_link_libraries(${name} PRIVATE dlscale_flags ${arg_LINK})
  if(arg_SPARED)
    target_compile_options(${name} PRIVATE ${DLSCALE_SPARED_OPTIONS})
  endif()
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# Lets the files of a target use the precompiled headers of that name, if there are any: with the definitions that these
# were compiled with, without which GCC would read the headers themselves. With sanitizers it says where it does.
function(dlscale_precompile target headers)
  if(TARGET "${headers}")
    target_precompile_headers(${target} REUSE_FROM ${headers})
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:${headers},COMPILE_DEFINITIONS>)
    if(NOT DLSCALE_SANITIZE)
      set_target_properties(${target} PROPERTIES PCH_WARN_INVALID OFF)
    endif()
  endif()
endfunction()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  dlscale_precompiled_headers(dlscale_headers HEADERS ${DLSCALE_COMMON_HEADERS} LINK fmt::fmt)
  dlscale_precompiled_headers(dlscale_spared_headers SPARED HEADERS ${DLSCALE_COMMON_HEADERS} LINK fmt::fmt)
  if(TARGET DNNL::dnnl)  # which is used with OpenMP
    dlscale_precompiled_headers(dlscale_openmp_headers HEADERS ${DLSCALE_COMMON_HEADERS} LINK fmt::fmt OpenMP::OpenMP_CXX)
  endif()
endif()
