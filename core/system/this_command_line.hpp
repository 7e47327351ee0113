#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace dlscale {

/// File of this program; empty if the system does not report it. The first call, by main(), looks
/// it up: after a rebuild the system names the file "… (deleted)", and later steps of a suite would
/// not find it.
const std::filesystem::path& this_program();

/// The command line that started this process, as typed; empty if the system does not report it.
std::vector<std::string> this_command_line();

}  // namespace dlscale
