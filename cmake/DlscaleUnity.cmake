# Compiles several files as one (a unity build). Headers and their template instances take most of the
# compile time, and files of a target share them. By default only builds with sanitizers do this, so
# that measured code is compiled in one way everywhere (DLSCALE_GROUPS in DlscaleOptions.cmake).
#
# unity_groups.py chooses the groups at configuration, so that no name of a file changes its meaning in
# another. File-local names that several files share are renamed in the group: a debugger shows
# row_of_report_rows for row. If the compiler reports a name twice after an edit, configure again. A
# file must still include what it uses; scripts/lint needs a build without groups and shows violations.

if(DLSCALE_GROUPS)
  # A parameter may have a name that only another file of its group uses; builds without groups warn.
  target_compile_options(dlscale_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>)
endif()

# Lets files of a target be compiled in groups.
function(dlscale_group target)
  set_property(GLOBAL APPEND PROPERTY dlscale_grouped_targets ${target})
endfunction()

# Replaces the members of a group by the group's file.
function(dlscale_replace_sources target group)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE OUTPUT_VARIABLE path)
    if(path IN_LIST ARGN)
      list(REMOVE_ITEM sources ${source})
    endif()
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${sources} ${group})
endfunction()

# Generates the groups. Generated files, and files with their own options, stay alone.
function(dlscale_generate_groups)
  set(listing "")
  get_property(targets GLOBAL PROPERTY dlscale_grouped_targets)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
      cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${source} written)
      get_property(options SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY COMPILE_OPTIONS)
      get_property(definitions SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY COMPILE_DEFINITIONS)
      if(source MATCHES "[.]cpp$" AND NOT written AND NOT options AND NOT definitions)
        string(APPEND listing "${target}\t${source}\n")
      endif()
    endforeach()
    # GCC would warn of file-local names, since their file is not the compiled one.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
    endif()
  endforeach()
  set(groups ${PROJECT_BINARY_DIR}/generated/unity_groups)
  file(WRITE ${groups}.txt "${listing}")
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/unity_groups.py ${groups}.txt ${groups}.cmake
                  COMMAND_ERROR_IS_FATAL ANY)
  include(${groups}.cmake)
endfunction()

if(DLSCALE_GROUPS)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/unity_groups.py)
endif()
