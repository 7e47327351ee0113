#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlscale::app {

/// A program of ours in a build tree.
struct BuiltProgram {
  std::filesystem::path program;
  std::string commit;  ///< where known
  /// Of all its content, for nothing less tells that two run alike: a gate goes on only with the
  /// programs of the rounds that it kept. A commit that is compiled in makes another program.
  std::string fingerprint;
  std::vector<std::pair<std::string, std::string>> variables;  ///< where its configurations are
};

/// The program of the build tree `folder`, with the configurations of its source tree (CMake's
/// CMAKE_HOME_DIRECTORY), as long as DLSCALE_CONFIGS is not set. Throws ConfigError.
BuiltProgram program_in(const std::filesystem::path& folder);

/// How commits are built.
struct CommitBuilds {
  std::filesystem::path repository = ".";
  std::string preset = "release";  ///< of CMakePresets.json of each commit
  std::filesystem::path cache;     ///< empty: $XDG_CACHE_HOME/dlscale/gate or ~/.cache/dlscale/gate
  int jobs = 0;                    ///< 0: as many as this process has cores
};

/// The program of a commit, in a git worktree of its own in the cache, one for each compiler: built
/// by the preset, and brought up to date where a library has changed since. Other processes that
/// want the same wait. Throws ConfigError for what is no commit, and Error (wrong_result), naming
/// the log, if it does not build.
BuiltProgram program_of_commit(const std::string& commit, const CommitBuilds& builds);

}  // namespace dlscale::app
