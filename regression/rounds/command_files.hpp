#pragma once
#include <string>

namespace dlscale::regression {

/// Throws ConfigError that names --`option` if a command line of a shell begins with a word that is
/// not a program here. A part of the shell's language, as in "A=1 x", is passed over.
void expect_startable(const char* option, const std::string& line);

/// Identifies the contents of the programs and scripts that a command line of a shell names. Data
/// that they read, and libraries, are not among them.
std::string fingerprint_of_command(const std::string& line);

}  // namespace dlscale::regression
