#include "regression/rounds/commit_builds.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/fnv1a.hpp"
#include "core/base/interrupt.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output_file.hpp"
#include "core/system/process.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "regression/history/git_command.hpp"

namespace dlscale::regression {
namespace {

namespace fs = std::filesystem;

/// The value of an entry of CMakeCache.txt; empty if missing.
std::string cached(const fs::path& folder, const std::string& entry) {
  std::ifstream file(folder / "CMakeCache.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(entry)) return line.substr(line.find('=') + 1);
  }
  return "";
}

fs::path cache_folder(const fs::path& wanted) {
  if (!wanted.empty()) return wanted;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != '\0') {
    return fs::path(xdg) / "dlscale" / "gate";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return fs::path(home) / ".cache" / "dlscale" / "gate";
  }
  throw ConfigError(
      "the commits need a folder to be built in, and neither HOME nor XDG_CACHE_HOME is set. Name "
      "a cache folder.");
}

/// The lock of a file that one process holds at a time; others wait.
Descriptor locked(const fs::path& path) {
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) {
    throw ConfigError(fmt::format("the lock {} cannot be written ({}). Name another cache folder.",
                                  path.string(), std::strerror(errno)));
  }
  // A file system without locks returns another error; retrying would never end.
  while (file.wait_for_lock() == EINTR) throw_if_interrupted();
  return file;
}

std::string resolved(const std::string& commit, const history::GitCommand& git) {
  ProgramOutput found =
      git.run({"rev-parse", "--verify", "--quiet", "--end-of-options", commit + "^{commit}"});
  while (found.text.ends_with('\n')) found.text.pop_back();
  if (found.code == 0 && found.text.size() >= 40) return found.text;
  throw ConfigError(fmt::format(
      "\"{}\" is not a commit of the git repository {}. Write a branch, a tag or a hash "
      "that it has, or name its repository.",
      escape_for_terminal(commit), fs::absolute(git.folder()).string()));
}

void build_step(const std::vector<std::string>& command, const std::string& what,
                const fs::path& log) {
  fs::remove(log);
  const ChildExit exit = run_child(
      command, {},
      {.variables = {}, .log = log, .timeout_s = {}, .signals = ChildOptions::Signals::to_group});
  throw_if_interrupted();
  if (exit.code == 0) return;
  throw Error(
      ExitCode::wrong_result,
      fmt::format("{} failed: {} {}. Its output is in {}. Repair the commit, or compare two build "
                  "trees.",
                  what, command.front(), describe(exit), log.string()));
}

bool on_path(const char* program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

/// CMake options that choose the generator: Ninja if it is installed, since CMake's default is
/// make. None if the environment chooses one, or an earlier configuration of `folder` did.
std::vector<std::string> generator_options(const fs::path& folder) {
  if (std::getenv("CMAKE_GENERATOR") != nullptr || fs::exists(folder / "CMakeCache.txt")) return {};
  if (on_path("ninja")) return {"-G", "Ninja"};
  if (on_path("make") || on_path("gmake")) return {};
  throw ConfigError(
      "commits cannot be built: neither ninja nor make is on the PATH. Install ninja-build, set "
      "CMAKE_GENERATOR, or compare two build trees.");
}

/// Distinguishes compilers, since CMake would reuse the folder of another one. The build itself
/// detects other changes of the machine, such as headers and libraries.
std::string compiler_key() {
  const char* named = std::getenv("CXX");
  const std::string compiler = named != nullptr && *named != '\0' ? named : "c++";
  const ProgramOutput said = run_program({"/bin/sh", "-c", compiler + " --version"});
  return fmt::format("{:08x}", fnv1a(compiler + ' ' + (said.code == 0 ? said.text : "")) >> 32U);
}

void build(const std::string& hash, const fs::path& tree, const CommitBuilds& builds) {
  const std::string stem = tree.string();
  if (!fs::exists(tree / ".git")) {
    std::vector<std::string> checkout = history::git_in(builds.repository);
    for (const std::string& word : {std::string("worktree"), std::string("add"),
                                    std::string("--force"), std::string("--detach"),
                                    tree.string(), hash}) {
      checkout.push_back(word);
    }
    build_step(checkout, "the worktree of " + hash, stem + ".checkout.log");
  }
  const fs::path folder = tree / "build" / builds.preset;
  std::vector<std::string> configure{"cmake", "-S", tree.string(), "--preset", builds.preset};
  std::ranges::copy(generator_options(folder), std::back_inserter(configure));
  build_step(configure, "the configuration of " + hash, stem + ".configure.log");
  build_step({"cmake", "--build", folder.string(), "--target", "dlscale", "--parallel",
              std::to_string(builds.jobs)},
             "the build of " + hash, stem + ".build.log");
}

}  // namespace

BuiltProgram program_in(const fs::path& folder) {
  const fs::path program = folder / "dlscale";
  if (access(program.c_str(), X_OK) != 0 || !fs::is_regular_file(program)) {
    throw ConfigError(
        fmt::format("{} is not a program that can be started. Name a folder that the program was "
                    "built in, such as build/release.",
                    program.string()));
  }
  BuiltProgram built;
  built.program = fs::absolute(program);
  built.fingerprint = fmt::format("{:016x}", fnv1a(content_of(program)));
  const std::string source = cached(folder, "CMAKE_HOME_DIRECTORY:INTERNAL=");
  if (!source.empty() && fs::is_directory(fs::path(source) / "configs")) {
    built.variables.emplace_back("DLSCALE_CONFIGS", source + "/configs");
  }
  return built;
}

std::vector<BuiltProgram> programs_of_commits(std::span<const std::string> commits,
                                              const CommitBuilds& builds) {
  const history::GitCommand git(builds.repository);
  std::vector<std::string> hashes;
  for (const std::string& commit : commits) hashes.push_back(resolved(commit, git));
  const fs::path cache = fs::absolute(cache_folder(builds.cache));
  std::error_code problem;
  fs::create_directories(cache, problem);
  if (problem) {
    throw ConfigError(fmt::format("the cache folder {} cannot be made ({}). Name another folder.",
                                  escape_for_terminal(cache.string()), problem.message()));
  }
  const std::string compiler = compiler_key();
  std::vector<BuiltProgram> programs;
  for (const std::string& hash : hashes) {
    const fs::path tree =
        cache / fmt::format("{}-{}-{}", hash.substr(0, 16), builds.preset, compiler);
    const Descriptor lock = locked(tree.string() + ".lock");
    fmt::print(stderr, "building {} in {}\n", hash.substr(0, 12), tree.string());
    build(hash, tree, builds);
    programs.push_back(program_in(tree / "build" / builds.preset));
    programs.back().commit = hash;
  }
  return programs;
}

}  // namespace dlscale::regression
