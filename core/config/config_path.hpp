#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale {

/// Folder that holds networks/, clusters/, suites/: $DLSCALE_CONFIGS, else the folder set at build
/// time if it exists, else <prefix>/share/dlscale/configs beside the program.
std::filesystem::path config_root();

/// File of the configuration `name` of a group ("networks"). A name with a slash or ending in .yaml
/// is a path. Throws ConfigError, which lists the available names, nearest first.
std::filesystem::path find_config(std::string_view group, std::string_view name);

/// All names in a group, sorted.
std::vector<std::string> config_names(std::string_view group);

}  // namespace dlscale
