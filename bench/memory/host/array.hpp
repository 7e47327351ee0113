#pragma once
#include <cstddef>
#include <new>

namespace dlscale::bench {

/// Numbers in untouched pages, which first touch places near the thread that uses them. The array
/// begins at a multiple of 4096 bytes.
template <class Number>
class Array {
 public:
  explicit Array(std::size_t n)
      : n_(n), values_(static_cast<Number*>(::operator new(n * sizeof(Number), alignment))) {}
  ~Array() { ::operator delete(values_, alignment); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  /// Pointer to element i. It must not be read in an empty array.
  [[nodiscard]] Number* from(std::size_t i) const { return n_ == 0 ? values_ : values_ + i; }

 private:
  static constexpr std::align_val_t alignment{4096};
  std::size_t n_;
  Number* values_;
};

}  // namespace dlscale::bench
