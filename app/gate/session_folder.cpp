#include "app/gate/session_folder.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/error.hpp"

namespace dlscale::app {

namespace fs = std::filesystem;

SessionFolder::~SessionFolder() {
  if (temporary_.empty()) return;
  std::error_code error;
  fs::remove_all(temporary_, error);
}

void SessionFolder::declare(CLI::App& verb) {
  verb.add_option("-o,--output", path_,
                  "Folder that keeps the rounds: the same command goes on there. Without it only "
                  "what failed or was interrupted is kept, in a temporary folder that is named")
      ->type_name("FOLDER");
  verb.add_flag("--fresh", fresh_, "Discard the rounds that are in the folder");
}

void SessionFolder::open(const std::string& kind) {
  if (!path_.empty()) {
    std::error_code error;
    if (fs::exists(path_, error) && !fs::is_directory(path_, error)) {
      throw ConfigError(
          fmt::format("{} is a file, and rounds need a folder. Name one with -o.", path_));
    }
    return;
  }
  if (fresh_) {
    throw ConfigError("--fresh has no effect without -o FOLDER: nothing is kept. Leave it out.");
  }
  std::string name = (fs::temp_directory_path() / fmt::format("dlscale-{}-XXXXXX", kind)).string();
  if (mkdtemp(name.data()) == nullptr) {
    throw ConfigError(fmt::format("no folder can be made in {} ({}). Name one with -o.",
                                  fs::temp_directory_path().string(), std::strerror(errno)));
  }
  temporary_ = path_ = name;
}

void SessionFolder::keep() {
  if (temporary_.empty()) return;
  fmt::print(stderr, "the rounds so far are in {0}: the same command goes on with -o {0}\n",
             temporary_);
  temporary_.clear();
}

}  // namespace dlscale::app
