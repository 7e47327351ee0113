# A *family* is a set of interchangeable objects of one type: backends, benchmarks, algorithms.
#
#   dlscale_family(<family> TYPE <c++ type> NAMESPACE <ns> HEADER <header> [LINK <target>...])
#   dlscale_add(<family> <member> SOURCES <file>... [REQUIRES <target>...] [LINK <target>...])
#
# The first call, in the family's folder, creates the library dlscale_<family>. Each member defines
#   extern const <type> <member>;
# and no other file changes, since the table is generated from the calls. A member without its
# REQUIRES is not built but listed with the reason.

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
  target_sources(dlscale_${family} PRIVATE ${arg_SOURCES})
  target_link_libraries(dlscale_${family} PRIVATE ${arg_REQUIRES} ${arg_LINK})
  set_property(GLOBAL APPEND PROPERTY dlscale_${family}_MEMBERS ${member})
endfunction()

# Writes the table of a family to generated/<family>.cpp, once all members are known.
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
  list(JOIN ABSENT ", " ABSENT)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/family.cpp.in ${PROJECT_BINARY_DIR}/generated/${family}.cpp @ONLY)
  target_sources(dlscale_${family} PRIVATE ${PROJECT_BINARY_DIR}/generated/${family}.cpp)
endfunction()
