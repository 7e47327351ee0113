#pragma once
#include <cstddef>
#include <new>

namespace dlscale::bench {

/// Numbers whose pages nobody has touched yet: each comes to lie near the thread that touches it
/// first. Begins at a multiple of 4096 bytes.
template <class Number>
class Array {
 public:
  explicit Array(std::size_t n)
      : n_(n), values_(static_cast<Number*>(::operator new(n * sizeof(Number), alignment))) {}
  ~Array() { ::operator delete(values_, alignment); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  /// Element i and those after it; of an array without any, nothing that may be read.
  [[nodiscard]] Number* from(std::size_t i) const { return n_ == 0 ? values_ : values_ + i; }

 private:
  static constexpr std::align_val_t alignment{4096};
  std::size_t n_;
  Number* values_;
};

}  // namespace dlscale::bench
