# cuDNN and NCCL, which are apart from the CUDA toolkit: beside it, in the system, or in the packages
# of Python that PyTorch brings (nvidia/cudnn, nvidia/nccl), which hold headers, and libraries with the
# number of their version only.

# dlscale_nvidia_packages(<result>): folders of Python's packages of NVIDIA, as a list.
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

# dlscale_library_version(<header> <prefix> <result>): "9.19" of the macros <prefix>_MAJOR and _MINOR.
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
# ${variable}_INCLUDE and ${variable}_LIBRARY of one that is new enough. One that is too old is said
# to be, and not found.
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
