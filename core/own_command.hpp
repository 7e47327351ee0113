#pragma once
#include <string>
#include <vector>

namespace dlscale {

/// The words of the command line that started this process, as typed; none where the system does
/// not give them.
std::vector<std::string> own_command();

}  // namespace dlscale
