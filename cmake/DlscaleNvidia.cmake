# Finds cuDNN and NCCL, which are not part of the CUDA toolkit: beside it, in the system, or in the
# Python packages of PyTorch (nvidia/cudnn, nvidia/nccl). Those have headers, and libraries whose
# names end in the version number only.

# dlscale_nvidia_packages(<result>): list of the folders of NVIDIA's Python packages.
function(dlscale_nvidia_packages result)
  find_program(DLSCALE_PYTHON python3 DOC "The Python in whose packages cuDNN and NCCL are looked for")
  mark_as_advanced(DLSCALE_PYTHON)
  set(folders "")
  if(DLSCALE_PYTHON)
    execute_process(
      COMMAND ${DLSCALE_PYTHON} -c
              "import importlib.util as u\ns = u.find_spec('nvidia')\nprint(';'.join(s.submodule_search_locations) if s else '')"
      OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(${result} "${folders}" PARENT_SCOPE)
endfunction()

# dlscale_library_version(<header> <prefix> <result>): "9.19" from the macros <prefix>_MAJOR
# and _MINOR.
function(dlscale_library_version header prefix result)
  set(parts "")
  foreach(part IN ITEMS MAJOR MINOR)
    file(STRINGS "${header}" line REGEX "^#define +${prefix}_${part} +[0-9]+" LIMIT_COUNT 1)
    string(REGEX REPLACE ".*${prefix}_${part} +([0-9]+).*" "\\1" number "${line}")
    list(APPEND parts "${number}")
  endforeach()
  list(JOIN parts "." version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# dlscale_find_nvidia(<variable> <header> <library> <number> <package> <minimum> <version header> <prefix>):
# sets ${variable}_INCLUDE and ${variable}_LIBRARY if a new enough version is found; warns of one that
# is too old.
function(dlscale_find_nvidia variable header library number package minimum version_header prefix)
  dlscale_nvidia_packages(packages)
  set(includes "")
  set(libraries "")
  foreach(folder IN LISTS packages)
    list(APPEND includes "${folder}/${package}/include")
    list(APPEND libraries "${folder}/${package}/lib")
  endforeach()
  find_path(${variable}_INCLUDE ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${includes})
  find_library(${variable}_LIBRARY NAMES ${library} lib${library}.so.${number}
               HINTS ${CUDAToolkit_LIBRARY_DIR} PATHS ${libraries})
  if(NOT ${variable}_INCLUDE OR NOT ${variable}_LIBRARY)
    return()
  endif()
  dlscale_library_version("${${variable}_INCLUDE}/${version_header}" ${prefix} version)
  if(NOT version VERSION_GREATER_EQUAL minimum)
    message(WARNING "${${variable}_INCLUDE} has ${header} of version ${version}, and ${minimum} or newer is needed. "
                    "Install that, or name another by -D${variable}_INCLUDE=… -D${variable}_LIBRARY=….")
    set(${variable}_LIBRARY "${variable}_LIBRARY-NOTFOUND" PARENT_SCOPE)
  endif()
endfunction()
