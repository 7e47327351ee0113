#pragma once
#include <cstddef>
#include <string_view>

namespace dlscale::backend {

/// Size of the pages in which the system maps memory. A processor caches the translations of only a
/// few thousand pages (TLB), so their size decides how much memory it reaches without a page walk.
enum class PageSize {
  small,  ///< the system's default, mostly 4 KiB
  huge,   ///< 2 MiB on most processors
};

std::string_view page_size_name(PageSize pages);
/// Size of such a page in bytes. Throws Unsupported if the system has no huge pages.
std::size_t page_bytes(PageSize pages);

/// Zeroed memory in pages of one kind; begins at a page boundary.
class PagedMemory {
 public:
  /// Touches every page. Throws Unsupported if the system has no huge pages or too few, ConfigError
  /// if there is too little memory.
  PagedMemory(std::size_t bytes, PageSize pages);
  ~PagedMemory();
  PagedMemory(const PagedMemory&) = delete;
  PagedMemory& operator=(const PagedMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace dlscale::backend
