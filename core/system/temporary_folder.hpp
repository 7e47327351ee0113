#pragma once
#include <filesystem>

namespace dlscale {

/// The folder for temporary files: TMPDIR, TMP, TEMP or TEMPDIR, else /tmp. Throws ConfigError that
/// names the variable and its folder if that cannot be used.
std::filesystem::path temporary_folder();

}  // namespace dlscale
