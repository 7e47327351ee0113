#pragma once
#include <string>
#include <vector>

#include "app/config_show.hpp"
#include "app/settings_line.hpp"

namespace dlscale::app {

/// Adds what is in effect whatever the command line says.
void add_program(Settings& settings, const SettingsSources& sources);

/// Adds a sentence on each of the variables `names` that looks as if it were the program's and is
/// not: a slip in a name changes nothing, and nobody would say so. On those of options, too, where
/// settings are off.
void add_idle_variables(Settings& settings, const SettingsSources& sources,
                        const std::vector<std::string>& names);

}  // namespace dlscale::app
