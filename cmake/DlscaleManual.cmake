# The manual, which the program writes itself from the options that its verbs declare, and the completion of shells.
#   cmake --build BUILD --target dlscale_manual; man BUILD/man/man1/dlscale.1
if(NOT CMAKE_CROSSCOMPILING)  # a program for another machine does not run here
  set(manual ${PROJECT_BINARY_DIR}/man/man1)
  add_custom_command(
    OUTPUT ${manual}/dlscale.1
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
    COMMAND ${CMAKE_COMMAND} -E env DLSCALE_CONFIGS=${PROJECT_SOURCE_DIR}/configs $<TARGET_FILE:dlscale> __manual ${manual}
    DEPENDS dlscale
    COMMENT "Writing the manual"
    VERBATIM)
  add_custom_target(dlscale_manual ALL DEPENDS ${manual}/dlscale.1)
  install(DIRECTORY ${manual} DESTINATION share/man)
endif()

set(completion ${PROJECT_SOURCE_DIR}/scripts/completion)
install(FILES ${completion}/dlscale.bash DESTINATION share/bash-completion/completions RENAME dlscale)
install(FILES ${completion}/dlscale.zsh DESTINATION share/zsh/site-functions RENAME _dlscale)
install(FILES ${completion}/dlscale.fish DESTINATION share/fish/vendor_completions.d RENAME dlscale.fish)
