#pragma once
#include <string>
#include <vector>

namespace dlscale::app {

/// Which words of a command of ours name the file that it writes, in each spelling that the options
/// -o,--output of its verbs take: "-o FILE", "-oFILE", "--output FILE", "--output=FILE"; and --out,
/// which `data make` has.

bool names_output(const std::vector<std::string>& words);

/// The others, in their order.
std::vector<std::string> without_output(const std::vector<std::string>& words);

}  // namespace dlscale::app
