#include "core/system/temporary_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <system_error>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale {

std::filesystem::path temporary_folder() {
  std::error_code problem;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(problem);
  if (!problem) return folder;
  // The library takes the first of these that is set, and does not say which.
  for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr) continue;
    throw ConfigError(fmt::format(
        "{0} is \"{1}\", where temporary files belong, and that folder cannot be used ({2}). "
        "Make the folder, or set {0} to another.",
        variable, escape_for_terminal(value), problem.message()));
  }
  throw ConfigError(
      fmt::format("/tmp, where temporary files belong, cannot be used ({}). Set TMPDIR to a folder "
                  "that can.",
                  problem.message()));
}

}  // namespace dlscale
