#pragma once
#include <string>

#include "app/gate/interleaved.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// The folder of a session of rounds: that of -o, where a second call resumes, or a temporary
/// folder that this object deletes at its end.
class SessionFolder {
 public:
  SessionFolder() = default;
  ~SessionFolder();
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;

  /// Adds the options -o and --fresh.
  void declare(CLI::App& verb);
  /// Creates the folder. Throws ConfigError.
  void open(const std::string& kind);
  /// Keeps a temporary folder after a failure, and prints its path on standard error.
  void keep();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is_kept() const { return temporary_.empty(); }
  [[nodiscard]] InterleavedRounds::Start start() const {
    return fresh_ ? InterleavedRounds::Start::fresh : InterleavedRounds::Start::go_on;
  }

 private:
  std::string path_;
  std::string temporary_;
  bool fresh_ = false;
};

}  // namespace dlscale::app
