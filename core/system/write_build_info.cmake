# Writes build_info.cpp; run at every build, so that the commit is the one that was compiled. The
# file is touched only if something changed.
#   cmake -Dsource=… -Dtemplate=… -Doutput=… -Dversion=… -Dbuild_type=… -Dcompiler=… -Dflags=… -P …
set(commit unknown)
set(dirty false)
set(difference "")
find_program(git git)
if(git AND EXISTS ${source}/.git)
  execute_process(COMMAND ${git} -C ${source} rev-parse HEAD
                  OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  execute_process(COMMAND ${git} -C ${source} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(NOT failed)
    set(commit ${head})
    if(changes)
      set(dirty true)
      execute_process(COMMAND ${git} -C ${source} diff HEAD
                      COMMAND ${git} hash-object --stdin
                      OUTPUT_VARIABLE difference OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
  endif()
endif()
configure_file(${template} ${output} @ONLY)
