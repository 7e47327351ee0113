#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale {

/// The folder that holds networks/, clusters/, suites/: $DLSCALE_CONFIGS, else the folder given at
/// build time if it exists, else <prefix>/share/dlscale/configs beside the program.
std::filesystem::path config_root();

/// The file of the configuration `name` of a group ("networks"). A name with a slash or ending in
/// .yaml is a path. Throws ConfigError that lists the names there are, nearest first.
std::filesystem::path find_config(std::string_view group, std::string_view name);

/// All names in a group, sorted.
std::vector<std::string> config_names(std::string_view group);

}  // namespace dlscale
