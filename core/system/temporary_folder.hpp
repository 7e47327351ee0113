#pragma once
#include <filesystem>

namespace dlscale {

/// The folder for temporary files: TMPDIR, TMP, TEMP or TEMPDIR, else /tmp. An empty variable
/// counts as one that is not set. Throws ConfigError that names the variable and its folder if that
/// cannot be used.
std::filesystem::path temporary_folder();

}  // namespace dlscale
