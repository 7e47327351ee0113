#include "core/system/temporary_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale {
namespace {

/// Why no folder can be made in a folder; 0 if one can. Permissions alone do not say: the
/// administrator has them in /proc, too.
int problem_of(const std::string& folder) {
  std::string made = folder + "/dlscale-XXXXXX";
  if (::mkdtemp(made.data()) == nullptr) return errno;
  ::rmdir(made.c_str());
  return 0;
}

}  // namespace

std::filesystem::path temporary_folder() {
  for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const int problem = problem_of(value);
    if (problem == 0) return value;
    throw ConfigError(fmt::format(
        "{0} is \"{1}\", where temporary files belong, and that folder cannot be used ({2}). "
        "Make the folder, or set {0} to another.",
        variable, escape_for_terminal(value), std::strerror(problem)));
  }
  const int problem = problem_of("/tmp");
  if (problem == 0) return "/tmp";
  throw ConfigError(
      fmt::format("/tmp, where temporary files belong, cannot be used ({}). Set TMPDIR to a folder "
                  "that can.",
                  std::strerror(problem)));
}

}  // namespace dlscale
