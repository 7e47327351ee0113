#pragma once

namespace dlscale::app {

/// Print the files of configs/devices, configs/links and configs/frameworks, each as a line or a
/// block, for dlscale info --devices, --links and --frameworks. Throw ConfigError for a file that
/// cannot be read.
void print_devices();
void print_links();
void print_frameworks();

}  // namespace dlscale::app
