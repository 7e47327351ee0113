#pragma once

namespace dlscale::app {

/// What dlscale info --devices, --links and --frameworks print: the files of configs/devices,
/// configs/links and configs/frameworks, a line or a block each. Throw ConfigError for a file that
/// cannot be read.
void print_devices();
void print_links();
void print_frameworks();

}  // namespace dlscale::app
