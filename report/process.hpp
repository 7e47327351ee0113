#pragma once
#include <string>
#include <vector>

namespace dlscale::report {

/// How a program ended.
struct Finished {
  int status = 0;      ///< exit status; 127 if the program was not found; 128 + n on signal n
  std::string output;  ///< standard output and standard error, as they came
};

/// Runs a program (found by PATH unless its name has a slash) to its end, without a shell.
/// Throws LibraryError if no process can be made.
Finished run_process(const std::vector<std::string>& arguments);

}  // namespace dlscale::report
