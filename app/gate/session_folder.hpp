#pragma once
#include <string>

#include "app/gate/interleaved.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// The folder of a session of rounds: that of -o, where a second call goes on, or a temporary one
/// that is gone with this object.
class SessionFolder {
 public:
  SessionFolder() = default;
  ~SessionFolder();
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;

  /// The options -o and --fresh.
  void declare(CLI::App& verb);
  /// Makes it. Throws ConfigError.
  void open(const std::string& kind);
  /// A temporary folder stays, and standard error says where: something went wrong in it.
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
