#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlscale::regression {

/// A dlscale program in a build tree.
struct BuiltProgram {
  std::filesystem::path program;
  std::string commit;  ///< empty if unknown
  /// Hash of the whole file. A session resumes only with the programs that measured its earlier
  /// rounds, and only equal content makes two programs equal. A compiled-in commit changes it.
  std::string fingerprint;
  /// Environment variables that locate its configurations.
  std::vector<std::pair<std::string, std::string>> variables;
};

/// The program of the build tree `folder`, with the configurations of its source tree (CMake's
/// CMAKE_HOME_DIRECTORY) unless DLSCALE_CONFIGS is set. Throws ConfigError.
BuiltProgram program_in(const std::filesystem::path& folder);

/// How commits are built.
struct CommitBuilds {
  std::filesystem::path repository = ".";
  std::string preset = "release";  ///< preset in CMakePresets.json of each commit
  std::filesystem::path cache;     ///< empty: $XDG_CACHE_HOME/dlscale/gate or ~/.cache/dlscale/gate
  int jobs = 1;                    ///< compilers at once
};

/// The programs of commits, each built by the preset in its own git worktree in the cache, one for
/// each compiler. All names are looked up before anything is built. A program is built again if a
/// library has changed since. Other processes that want the same program wait. Throws ConfigError
/// for a name that is not a commit, and Error (wrong_result), naming the log, if a build fails.
std::vector<BuiltProgram> programs_of_commits(std::span<const std::string> commits,
                                              const CommitBuilds& builds);

}  // namespace dlscale::regression
