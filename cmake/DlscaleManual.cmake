# The manual, which the program writes itself from the options that its verbs declare.
#   cmake --build BUILD --target dlscale_manual; man BUILD/man/man1/dlscale.1
if(CMAKE_CROSSCOMPILING)  # a program for another machine does not run here
  return()
endif()
set(run ${CMAKE_COMMAND} -E env DLSCALE_CONFIGS=${PROJECT_SOURCE_DIR}/configs $<TARGET_FILE:dlscale>)
set(manual ${PROJECT_BINARY_DIR}/man/man1)
add_custom_command(
  OUTPUT ${manual}/dlscale.1
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
  COMMAND ${run} __manual ${manual}
  DEPENDS dlscale
  COMMENT "Writing the manual"
  VERBATIM)
add_custom_target(dlscale_manual ALL DEPENDS ${manual}/dlscale.1)
install(DIRECTORY ${manual} DESTINATION share/man)

# Completion of shells: scripts that the program writes from the same options.
#   source BUILD/completion/dlscale.bash
set(completion ${PROJECT_BINARY_DIR}/completion)
foreach(shell IN ITEMS bash fish zsh)
  add_custom_command(
    OUTPUT ${completion}/dlscale.${shell}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completion}
    COMMAND ${run} __completion ${shell} > ${completion}/dlscale.${shell}
    DEPENDS dlscale
    COMMENT "Writing completion for ${shell}"
    VERBATIM)
endforeach()
add_custom_target(dlscale_completion ALL
  DEPENDS ${completion}/dlscale.bash ${completion}/dlscale.fish ${completion}/dlscale.zsh)
install(FILES ${completion}/dlscale.bash DESTINATION share/bash-completion/completions RENAME dlscale)
install(FILES ${completion}/dlscale.zsh DESTINATION share/zsh/site-functions RENAME _dlscale)
install(FILES ${completion}/dlscale.fish DESTINATION share/fish/vendor_completions.d RENAME dlscale.fish)
