# Headers of the standard library, of fmt and nlohmann/json, in tests GoogleTest's too, take a third of each file's compile
# time. A file must still include what it uses (scripts/lint). They are not precompiled for ccache
# (CMAKE_CXX_COMPILER_LAUNCHER=ccache), which cannot keep such files unless it is set to be sloppy. A file with options of
# its own must have the property SKIP_PRECOMPILE_HEADERS: Clang refuses headers compiled with other options.

set(DLSCALE_COMMON_HEADERS <algorithm> <array> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory>
                           <optional> <set> <span> <string> <string_view> <utility> <vector> <fmt/format.h> <nlohmann/json.hpp>)
set(DLSCALE_COMMON_LIBRARIES fmt::fmt nlohmann_json::nlohmann_json)

# dlscale_precompiled_headers(<name> HEADERS <header>... [LINK <target>...] [SPARED]): precompiles
# headers for dlscale_precompile(); SPARED: with the options of dlscale_spare_optimiser().
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

# Lets a target use the precompiled headers of that name, if they exist, with their definitions;
# otherwise GCC would read the headers themselves. With sanitizers GCC warns where it does.
function(dlscale_precompile target headers)
  if(TARGET "${headers}")
    target_precompile_headers(${target} REUSE_FROM ${headers})
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:${headers},COMPILE_DEFINITIONS>)
    if(NOT DLSCALE_SANITIZE)
      set_target_properties(${target} PROPERTIES PCH_WARN_INVALID OFF)
    endif()
  endif()
endfunction()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  dlscale_precompiled_headers(dlscale_headers HEADERS ${DLSCALE_COMMON_HEADERS} LINK ${DLSCALE_COMMON_LIBRARIES})
  dlscale_precompiled_headers(dlscale_spared_headers SPARED HEADERS ${DLSCALE_COMMON_HEADERS} LINK ${DLSCALE_COMMON_LIBRARIES})
  if(TARGET DNNL::dnnl)  # oneDNN is used with OpenMP
    dlscale_precompiled_headers(dlscale_openmp_headers HEADERS ${DLSCALE_COMMON_HEADERS} LINK ${DLSCALE_COMMON_LIBRARIES} OpenMP::OpenMP_CXX)
  endif()
endif()
