#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace dlscale::app {

/// The environment variable by which what a cell, a step or a run has started is known: a place of
/// its own in the folder of results. What it starts itself inherits that, also in process groups of
/// its own; a number of a process would be another's one day.
inline constexpr const char* cell_variable = "_DLSCALE_CELL";

/// The value of that variable for one that is called `name` in `folder`: an absolute path, the same
/// however the folder is spelt.
std::string place_of(const std::filesystem::path& folder, std::string_view name);

/// Ends what runs on this machine for this user and whose variable begins with `places`: what a
/// program that was killed had started would disturb what is measured next, and hold its files. To
/// be called by whoever knows that no other program is at work there. `what` it was of, for the
/// line on standard error: "a cell".
void end_orphans(const std::string& places, std::string_view what);

}  // namespace dlscale::app
