# A *family* is a set of interchangeable things of one type: backends, benchmarks, algorithms.
#
#   dlscale_family(<family> TYPE <c++ type> NAMESPACE <ns> HEADER <header> [LINK <target>...])
#   dlscale_add(<family> <member> SOURCES <file>... [REQUIRES <target>...] [LINK <target>...])
#
# The first call, in the family's folder, makes the library dlscale_<family>. Each member defines
#   extern const <type> <member>;
# and no other file is edited: the table is generated from the calls. A member whose REQUIRES are
# absent is listed with the reason instead of built. Those of GPUs are built apart from all programs
# but their tests if DLSCALE_GPU_APART is set (cmake/DlscaleDependencies.cmake).

function(dlscale_family family)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TYPE;HEADER;NAMESPACE" "LINK")
  foreach(key IN ITEMS TYPE HEADER NAMESPACE)
    set_property(GLOBAL PROPERTY dlscale_${family}_${key} ${arg_${key}})
  endforeach()
  add_library(dlscale_${family} STATIC)
  target_link_libraries(dlscale_${family} PUBLIC dlscale_core ${arg_LINK})
  dlscale_precompile(dlscale_${family} ${DLSCALE_HEADERS})
  dlscale_group(dlscale_${family})
  cmake_language(EVAL CODE
    "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL dlscale_generate_table [[${family}]])")
endfunction()

# Sets <result> to the library of what a family has beyond <target>, which is there: that of the family, or one apart from it.
function(dlscale_library_beyond family target result)
  set(library dlscale_${family})
  if(DLSCALE_GPU_APART AND TARGET ${target} AND target MATCHES "^dlscale::(cuda|nccl)$")
    set(library dlscale_${family}_apart)
    if(NOT TARGET ${library})
      add_library(${library} STATIC)
      target_link_libraries(${library} PUBLIC dlscale_${family} PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
      dlscale_precompile(${library} ${DLSCALE_HEADERS})
      dlscale_group(${library})
    endif()
  endif()
  set(${result} ${library} PARENT_SCOPE)
endfunction()

function(dlscale_add family member)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;REQUIRES;LINK")
  foreach(target IN LISTS arg_REQUIRES)
    if(NOT TARGET ${target})
      set_property(GLOBAL APPEND PROPERTY dlscale_${family}_ABSENT
                   "{\"${member}\", \"${target} was not found when this was built\"}")
      return()
    endif()
  endforeach()
  list(TRANSFORM arg_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set(library dlscale_${family})
  foreach(target IN LISTS arg_REQUIRES)
    dlscale_library_beyond(${family} ${target} library)
  endforeach()
  target_sources(${library} PRIVATE ${arg_SOURCES})
  target_link_libraries(${library} PRIVATE ${arg_REQUIRES} ${arg_LINK})
  if(library STREQUAL "dlscale_${family}")
    set_property(GLOBAL APPEND PROPERTY dlscale_${family}_MEMBERS ${member})
  else()
    set_property(GLOBAL APPEND PROPERTY dlscale_${family}_ABSENT
                 "{\"${member}\", \"built apart, for its tests alone (DLSCALE_GPU_APART)\"}")
  endif()
endfunction()

function(dlscale_generate_table family)
  foreach(key IN ITEMS TYPE HEADER NAMESPACE MEMBERS ABSENT)
    get_property(${key} GLOBAL PROPERTY dlscale_${family}_${key})
  endforeach()
  set(declarations "")
  set(rows "")
  foreach(member IN LISTS MEMBERS)
    string(APPEND declarations "extern const ${TYPE} ${member};\n")
    string(APPEND rows "&${member}, ")
  endforeach()
  string(REPLACE ";" ", " ABSENT "${ABSENT}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/family.cpp.in
                 ${PROJECT_BINARY_DIR}/generated/${family}.cpp @ONLY)
  target_sources(dlscale_${family} PRIVATE ${PROJECT_BINARY_DIR}/generated/${family}.cpp)
endfunction()
