#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace dlscale {

/// The file of this program; empty where the system does not say. It is looked up by the first
/// call, which main() makes: after a rebuild the system calls the file "… (deleted)", and steps of
/// a suite that are started later would find nothing there.
const std::filesystem::path& own_program();

/// The words of the command line that started this process: as typed, or as set_own_command() has
/// them; none where the system does not tell.
std::vector<std::string> own_command();

/// For a program whose options may be set elsewhere than on its command line: from now on
/// own_command() returns `words`, which say what was typed and what was set. Typed where nothing
/// else sets options they do the same, as far as the files are the same that they name. To be
/// called once, before there are other threads, with a word or more; another call is a bug.
void set_own_command(std::vector<std::string> words);

}  // namespace dlscale
