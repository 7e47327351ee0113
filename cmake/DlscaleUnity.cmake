# Compiles the .cpp files of a folder as one (CMake's unity build). Headers and their template instances take most of the
# compile time, and files of a folder share them. Two files of a folder must not declare the same file-local name.
# scripts/lint compiles the files one by one and so finds missing includes.

option(DLSCALE_UNITY "Compile the files of a folder as one" ON)

if(DLSCALE_UNITY)
  # A parameter may have a name that another file of the folder declares; builds without groups warn.
  target_compile_options(dlscale_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC warns of members with file-local types, since their file is not the compiled one.
    target_compile_options(dlscale_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endif()

# Small enough to keep several cores busy to the end, in bytes of source.
set(DLSCALE_LARGEST_GROUP 120000)

# Leaves files of a target out of the groups: files that Highway includes several times, or that tests compile again.
function(dlscale_compile_alone target)
  foreach(source IN LISTS ARGN)
    set_property(SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/${source} TARGET_DIRECTORY ${target}
                 PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

# Groups the files of a target, at the end of the configuration, when all files are known. CMake compiles alone what has
# own options or definitions, or the property SKIP_UNITY_BUILD_INCLUSION.
function(dlscale_group target)
  if(DLSCALE_UNITY)
    cmake_language(EVAL CODE
      "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL dlscale_group_sources [[${target}]])")
  endif()
endfunction()

# Groups the named files of a target.
function(dlscale_group_by_folder target)
  foreach(path IN LISTS ARGN)
    cmake_path(GET path PARENT_PATH parent)
    file(SIZE ${path} size)
    if(NOT parent STREQUAL last OR total GREATER DLSCALE_LARGEST_GROUP)
      set(total 0)
      string(MAKE_C_IDENTIFIER "${path}" group)
      set(last ${parent})
    endif()
    math(EXPR total "${total} + ${size}")
    set_property(SOURCE ${path} TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# Takes the files of dlscale_optimise_in() out of the list called `list`. With Clang's sanitizers they become a library of
# objects, so that they are grouped, too, and use the headers that were precompiled for optimised code.
function(dlscale_take_optimised target list)
  set(optimised "")
  if(DLSCALE_SANITIZE AND TARGET dlscale_headers AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    foreach(path IN LISTS ${list})
      get_property(named SOURCE ${path} TARGET_DIRECTORY ${target} PROPERTY DLSCALE_OPTIMISED)
      if(named)
        list(APPEND optimised ${path})
        set_property(SOURCE ${path} TARGET_DIRECTORY ${target} PROPERTY HEADER_FILE_ONLY ON)
      endif()
    endforeach()
  endif()
  if(NOT optimised)
    return()
  endif()
  list(REMOVE_ITEM ${list} ${optimised})
  set(${list} "${${list}}" PARENT_SCOPE)
  set(objects ${target}_optimised)
  add_library(${objects} OBJECT ${optimised})
  # It is not linked to what its target needs, since some of these libraries need each other.
  foreach(property IN ITEMS INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS)
    set_property(TARGET ${objects} PROPERTY ${property} $<TARGET_PROPERTY:${target},${property}>)
  endforeach()
  target_compile_options(${objects} PRIVATE ${DLSCALE_OPTIMISED_OPTION})
  dlscale_precompile(${objects} dlscale_headers)
  dlscale_group_by_folder(${objects} ${optimised})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
endfunction()

function(dlscale_group_sources target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(paths "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${source} generated)
    if(source MATCHES "[.]cpp$" AND NOT generated)
      list(APPEND paths ${source})
    endif()
  endforeach()
  list(SORT paths)
  dlscale_take_optimised(${target} paths)
  dlscale_group_by_folder(${target} ${paths})
endfunction()
