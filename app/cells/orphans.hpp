#pragma once
#include <filesystem>

namespace dlscale::app {

/// Ends the processes of this user on this machine whose environment names a cell below `work`
/// (cell_variable): what a program that was killed had started would disturb what is measured next,
/// and write beside it. First by SIGTERM, what does not heed that by SIGKILL. Says on standard
/// error how many there were.
void end_orphans(const std::filesystem::path& work);

}  // namespace dlscale::app
