# Generates shell completion and, with help2man, the manual from the options that the verbs declare.
if(CMAKE_CROSSCOMPILING)  # the program cannot run on this machine
  return()
endif()

# source BUILD/completion/dlscale.bash
set(completion ${PROJECT_BINARY_DIR}/completion)
foreach(shell IN ITEMS bash fish zsh)
  add_custom_command(
    OUTPUT ${completion}/dlscale.${shell}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completion}
    COMMAND ${CMAKE_COMMAND} -E env DLSCALE_CONFIGS=${PROJECT_SOURCE_DIR}/configs $<TARGET_FILE:dlscale> __completion ${shell} > ${completion}/dlscale.${shell}
    DEPENDS dlscale
    COMMENT "Writing completion for ${shell}"
    VERBATIM)
endforeach()
add_custom_target(dlscale_completion ALL
  DEPENDS ${completion}/dlscale.bash ${completion}/dlscale.fish ${completion}/dlscale.zsh)
install(FILES ${completion}/dlscale.bash DESTINATION share/bash-completion/completions RENAME dlscale)
install(FILES ${completion}/dlscale.zsh DESTINATION share/zsh/site-functions RENAME _dlscale)
install(FILES ${completion}/dlscale.fish DESTINATION share/fish/vendor_completions.d RENAME dlscale.fish)

# cmake --build BUILD --target dlscale_manual; man BUILD/man/man1/dlscale.1
find_program(DLSCALE_HELP2MAN help2man)
mark_as_advanced(DLSCALE_HELP2MAN)
if(DLSCALE_HELP2MAN)
  set(manual ${PROJECT_BINARY_DIR}/man)
  add_custom_target(dlscale_manual
    COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:dlscale> -D HELP2MAN=${DLSCALE_HELP2MAN} -D FOLDER=${manual}/man1
            -P ${PROJECT_SOURCE_DIR}/cmake/write_manual.cmake
    DEPENDS dlscale
    COMMENT "Writing the manual"
    VERBATIM)
  install(DIRECTORY ${manual} DESTINATION share OPTIONAL)
endif()
