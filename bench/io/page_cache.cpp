#include "bench/io/page_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ >= 0) return;
    throw ConfigError(fmt::format("{} cannot be read: {}. Check the path and its permissions.",
                                  path.string(), std::generic_category().message(errno)));
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::size_t bytes() const {
    struct stat status = {};
    EXPECT(::fstat(descriptor_, &status) == 0);
    return static_cast<std::size_t>(status.st_size);
  }

 private:
  int descriptor_;
};

}  // namespace

Residency residency(const std::filesystem::path& path) {
  const OpenFile file(path);
  const std::size_t bytes = file.bytes();
  if (bytes == 0) return {};
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  void* view = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  EXPECT(view != MAP_FAILED);
  const int failed = ::mincore(view, bytes, pages.data());
  ::munmap(view, bytes);
  EXPECT(failed == 0);
  return {std::ssize(pages),
          std::ranges::count_if(pages, [](int bits) { return (bits & 1) != 0; })};
}

void evict(const std::filesystem::path& path) {
  const OpenFile file(path);
  ::fdatasync(file.descriptor());  // dirty pages cannot be dropped
  ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
}

std::optional<std::int64_t> storage_bytes_read(const std::filesystem::path& counters) {
  std::ifstream file(counters);
  std::string name;
  std::int64_t value = 0;
  while (file >> name >> value) {
    if (name == "read_bytes:") return value;
  }
  return std::nullopt;
}

}  // namespace dlscale::bench
