# Files that are compiled as one. Most of what a file takes is headers, and what it instantiates of their templates, which
# other files of its target need as well. Unless asked for only with sanitizers: what is measured is compiled in one way
# everywhere. DlscaleOptions.cmake says when (DLSCALE_GROUPS).
#
# Which go together is chosen at configuration (unity_groups.py), so that no name of a file means anything else in another;
# names that several of them have for themselves are renamed in the group (a debugger shows row_of_report_rows for row).
# Where the compiler finds a name twice after an edit, configure again. A file must still include what it uses;
# scripts/lint, which asks for a build without groups, shows it.

if(DLSCALE_GROUPS)
  # A parameter may be called as something that only another file of its group says it uses; builds without groups warn.
  target_compile_options(dlscale_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>)
endif()

# Lets files of a target be compiled in groups.
function(dlscale_group target)
  set_property(GLOBAL APPEND PROPERTY dlscale_grouped_targets ${target})
endfunction()

# Compiles the file of a group in place of its members.
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

# Files that a build writes, and those with options of their own, stay alone.
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
    # Else GCC warns of names that a file has for itself where that is not the file it was told to compile.
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
