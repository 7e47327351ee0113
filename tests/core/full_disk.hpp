#pragma once
#include <sys/resource.h>

#include <csignal>
#include <stdexcept>

namespace dlscale::test {

/// As long as it lives, this process can write no file beyond so many bytes: a disk that fills up.
class NoRoomForFiles {
 public:
  explicit NoRoomForFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    if (getrlimit(RLIMIT_FSIZE, &before_) != 0) throw std::runtime_error("no limit to change");
    const rlimit limit{bytes, before_.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error("no limit to set");
  }
  ~NoRoomForFiles() {
    (void)setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }
  NoRoomForFiles(const NoRoomForFiles&) = delete;
  NoRoomForFiles& operator=(const NoRoomForFiles&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace dlscale::test
