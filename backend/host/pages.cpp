#include "backend/host/pages.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

std::size_t huge_page_bytes() {
  std::size_t bytes = 0;
  std::ifstream("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size") >> bytes;
  if (bytes > 0) return bytes;
  throw Unsupported("this system has no transparent huge pages");
}

/// Bytes in huge pages of the mapping that begins at `start`, as Linux reports them.
std::size_t bytes_in_huge_pages(const std::byte* start) {
  const std::string wanted = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(start));
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with(wanted)) inside = true;
    if (inside && line.starts_with("AnonHugePages:")) {
      return std::stoull(line.substr(std::strlen("AnonHugePages:"))) * 1024;
    }
  }
  return 0;
}

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::byte* map_anonymous(std::size_t bytes) {
  void* mapping =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping != MAP_FAILED) return static_cast<std::byte*>(mapping);
  throw ConfigError(
      fmt::format("{} bytes of memory cannot be had ({}). Give smaller sizes, or stop what else "
                  "uses the memory.",
                  bytes, std::strerror(errno)));
}

}  // namespace

std::string_view page_size_name(PageSize pages) {
  return pages == PageSize::small ? "small" : "huge";
}

std::size_t page_bytes(PageSize pages) {
  if (pages == PageSize::huge) return huge_page_bytes();
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

PagedMemory::PagedMemory(std::size_t bytes, PageSize pages) : bytes_(bytes) {
  EXPECT(bytes >= 1);
  const std::size_t page = page_bytes(pages);
  const std::size_t whole = rounded_up(bytes, page);
  mapped_ = whole + page;  // mmap aligns only to a small page
  mapping_ = map_anonymous(mapped_);
  const auto start = reinterpret_cast<std::uintptr_t>(mapping_);
  const std::size_t skipped = rounded_up(start, page) - start;
  data_ = mapping_ + skipped;
  const bool huge = pages == PageSize::huge;
  // Separate advice makes this part a separate mapping in the kernel. A system without huge pages
  // refuses the call, but then has small pages anyway.
  const int refused = ::madvise(data_, whole, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(data_, 0, whole);
  const std::size_t got = huge && refused == 0 ? bytes_in_huge_pages(data_) : 0;
  if (!huge || got >= whole) return;
  ::munmap(mapping_, mapped_);
  throw Unsupported(
      fmt::format("the system gave {} of {} bytes in huge pages (see "
                  "/sys/kernel/mm/transparent_hugepage/enabled, and free memory)",
                  got, whole));
}

PagedMemory::~PagedMemory() {
  ::munmap(mapping_, mapped_);
}

}  // namespace dlscale::backend
