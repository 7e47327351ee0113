#pragma once
#include <string>
#include <vector>

namespace dlscale::app {

/// The output of a program until it ended.
struct ProgramOutput {
  int code = 0;  ///< exit code; 128 + signal if a signal ended it; 127 if it could not be started
  std::string text;    ///< standard output
  std::string errors;  ///< standard error
};

/// Runs a short program, such as a scheduler query, without input, and waits for it.
ProgramOutput run_program(const std::vector<std::string>& command);

}  // namespace dlscale::app
