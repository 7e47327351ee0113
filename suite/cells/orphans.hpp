#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace dlscale::suite {

/// The environment variable that marks the processes of a cell, step or run. Its value is a place
/// of its own in the folder of results. Child processes inherit it even in other process groups,
/// and unlike a process id it is never reused.
inline constexpr const char* cell_variable = "_DLSCALE_CELL";

/// The value of that variable for the cell, step or run `name` in `folder`: an absolute path that
/// does not depend on the spelling of the folder.
std::string place_of(const std::filesystem::path& folder, std::string_view name);

/// Ends this user's processes on this machine whose variable begins with `places`. Processes left
/// by a killed program would disturb the next measurement and hold its files. Call it only if no
/// other program works there. `what` names their origin on standard error: "a cell".
void end_orphans(const std::string& places, std::string_view what);

}  // namespace dlscale::suite
