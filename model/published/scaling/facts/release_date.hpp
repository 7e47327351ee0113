#pragma once
#include <optional>
#include <string_view>

#include "core/run/framework_file.hpp"

namespace dlscale::model::scaling {

/// When what trained came out, as far as its text says: the month of a container ("NGC 21.05",
/// "Release 20.06", "tensorflow:20.11-tf1"), or of a framework's version ("PyTorch 1.4"), which is
/// that of its first release. The latest of several; nothing if there is none.
std::optional<ReleaseMonth> stated_release(std::string_view text);

}  // namespace dlscale::model::scaling
