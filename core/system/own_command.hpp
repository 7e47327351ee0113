#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace dlscale {

/// The file of this program; empty where the system does not say. It is looked up by the first
/// call, which main() makes: after a rebuild the system calls the file "… (deleted)", and steps of
/// a suite that are started later would find nothing there.
const std::filesystem::path& own_program();

/// The words of the command line that started this process, as typed; none where the system does
/// not give them.
std::vector<std::string> own_command();

}  // namespace dlscale
