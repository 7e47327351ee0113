#pragma once
#include <string>
#include <vector>

namespace dlscale::app {

/// Whether a dlscale command names its output file, in any spelling of -o,--output: "-o FILE",
/// "-oFILE", "--output FILE", "--output=FILE"; or --out of `data make`.

bool names_output(const std::vector<std::string>& words);

/// The other words, in their order.
std::vector<std::string> without_output(const std::vector<std::string>& words);

}  // namespace dlscale::app
