#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale {

/// Folder that holds networks/, clusters/, suites/: $DLSCALE_CONFIGS, else that which came with the
/// program (<prefix>/share/dlscale/configs, or configs of the sources around its build), else the
/// folder set at build time.
std::filesystem::path config_root();

/// File of the configuration `name` of a group ("networks"). A name with a slash or ending in .yaml
/// is a path. A dash stands for an underscore where only that is there. Throws ConfigError, which lists the available names, nearest first.
std::filesystem::path find_config(std::string_view group, std::string_view name);

/// All names in a group, sorted.
std::vector<std::string> config_names(std::string_view group);

}  // namespace dlscale
