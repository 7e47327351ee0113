#pragma once
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace dlscale {

/// An owned file descriptor, closed by the destructor. A negative number means none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  /// 0 or errno. File systems that have nothing to flush and report that count as success.
  [[nodiscard]] int sync() const {
    if (::fsync(number_) == 0 || errno == EINVAL || errno == ENOSYS) return 0;
    return errno;
  }
  /// 0 or errno; some file systems report a full disk only here.
  [[nodiscard]] int close() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

 private:
  int number_ = -1;
};

}  // namespace dlscale
