#pragma once
#include <string>
#include <string_view>

namespace dlscale::regression::history {

/// The text that nccl-tests prints beside its JSON (-J, since 2.17.5), with all digits of the JSON.
/// Throws ConfigError without the name of the file for other JSON.
std::string text_of_nccl_json(std::string_view json);

}  // namespace dlscale::regression::history
