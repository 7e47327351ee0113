#pragma once
#include <optional>
#include <string_view>

#include "core/run/framework_file.hpp"

namespace dlscale::model::scaling {

/// The release month of the software, as stated in a text. It is the month of a container ("NGC
/// 21.05", "Release 20.06", "tensorflow:20.11-tf1"), or of the first release of a framework's
/// version ("PyTorch 1.4"). The latest of several counts; empty if there is none.
std::optional<ReleaseMonth> stated_release(std::string_view text);

}  // namespace dlscale::model::scaling
