#pragma once
#include <cstdint>
#include <filesystem>

namespace dlscale {

/// A result file that this process alone writes as long as the object lives: others are refused.
class LockedResults {
 public:
  /// Makes the folder and the file where they are not there; what the file holds stays. "-" is
  /// standard output, and a device is not locked. Throws ConfigError if another dlscale writes the
  /// file, it holds something else than results, or it cannot be written.
  explicit LockedResults(const std::filesystem::path& path);
  ~LockedResults();
  LockedResults(const LockedResults&) = delete;
  LockedResults& operator=(const LockedResults&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] bool is_regular() const { return is_regular_; }
  /// Cuts off what stands after the first `bytes`, after which the next write goes. Throws
  /// ConfigError.
  void keep(std::uintmax_t bytes);

 private:
  void lock() const;
  std::filesystem::path path_;
  int descriptor_ = -1;
  bool is_regular_ = false;
};

}  // namespace dlscale
