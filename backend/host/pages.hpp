#pragma once
#include <cstddef>
#include <string_view>

namespace dlscale::backend {

/// In which pieces the system maps memory to addresses. A processor remembers the places of a few
/// thousand pages only, so how large they are decides how much memory it reaches without asking.
enum class PageSize {
  small,  ///< those of the system, mostly 4 KiB
  huge,   ///< 2 MiB on most processors
};

std::string_view page_size_name(PageSize pages);
/// Bytes of such a page. Throws Unsupported where the system has no huge pages.
std::size_t page_bytes(PageSize pages);

/// Zeroed memory in pages of one kind, which begins at the start of a page.
class PagedMemory {
 public:
  /// Touches every page. Throws Unsupported where the system gives no huge pages or not as many,
  /// ConfigError where there is too little memory.
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
