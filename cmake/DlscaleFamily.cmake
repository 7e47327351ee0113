# A *family* is a set of interchangeable things of one type: backends, benchmarks, algorithms.
#
#   dlscale_family(<family> TYPE <c++ type> NAMESPACE <ns> HEADER <header> [LINK <target>...])
#   dlscale_add(<family> <member> SOURCES <file>... [REQUIRES <target>...] [LINK <target>...])
#
# The first call, in the family's folder, makes the library dlscale_<family>. Each member defines
#   extern const <type> <member>;
# and no other file is edited: the table is generated from the calls. A member whose REQUIRES are
# absent is listed with the reason instead of built. Those of GPUs are built apart from most programs
# if DLSCALE_GPU_APART is set (cmake/DlscaleDependencies.cmake): who links dlscale_whole() has them.

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
      # The table with all members: objects come before archives, so the linker does not look for the family's own.
      add_library(dlscale_${family}_whole OBJECT)
      target_link_libraries(dlscale_${family}_whole PUBLIC ${library})
    endif()
  endif()
  set(${result} ${library} PARENT_SCOPE)
endfunction()

# Sets <result> to what a program links that finds every member of a family by name, those built apart, too.
function(dlscale_whole family result)
  set(${result} dlscale_${family} PARENT_SCOPE)
  if(TARGET dlscale_${family}_whole)
    set(${result} dlscale_${family}_whole PARENT_SCOPE)
  endif()
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
    set_property(GLOBAL APPEND PROPERTY dlscale_${family}_APART ${member})
  endif()
endfunction()

# Writes the table of a family to generated/<name>.cpp, a source of dlscale_<name>: MEMBERS, and in ABSENT what is not among them.
function(dlscale_write_table family name)
  foreach(key IN ITEMS TYPE HEADER NAMESPACE)
    get_property(${key} GLOBAL PROPERTY dlscale_${family}_${key})
  endforeach()
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "MEMBERS;ABSENT")
  set(declarations "")
  set(rows "")
  foreach(member IN LISTS arg_MEMBERS)
    string(APPEND declarations "extern const ${TYPE} ${member};\n")
    string(APPEND rows "&${member}, ")
  endforeach()
  list(JOIN arg_ABSENT ", " ABSENT)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/family.cpp.in ${PROJECT_BINARY_DIR}/generated/${name}.cpp @ONLY)
  target_sources(dlscale_${name} PRIVATE ${PROJECT_BINARY_DIR}/generated/${name}.cpp)
endfunction()

function(dlscale_generate_table family)
  foreach(key IN ITEMS MEMBERS APART ABSENT)
    get_property(${key} GLOBAL PROPERTY dlscale_${family}_${key})
  endforeach()
  if(APART)
    dlscale_write_table(${family} ${family}_whole MEMBERS ${MEMBERS} ${APART} ABSENT ${ABSENT})
  endif()
  foreach(member IN LISTS APART)
    list(APPEND ABSENT "{\"${member}\", \"linked with dlscale_with_gpus and with tests alone (DLSCALE_GPU_APART)\"}")
  endforeach()
  dlscale_write_table(${family} ${family} MEMBERS ${MEMBERS} ABSENT ${ABSENT})
endfunction()
