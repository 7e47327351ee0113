#include "backend/comm/nccl/rendezvous_page.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "core/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

struct Header {
  std::array<char, 16> kind{};
  std::uint64_t meeting = 0;
  std::int32_t rank = 0;
  std::int32_t world = 0;
  std::uint64_t bytes = 0;
};

constexpr std::array<char, 16> our_kind{"dlscale meet 1"};

[[noreturn]] void throw_unwritable(const std::filesystem::path& path, int error) {
  throw ConfigError(
      fmt::format("{} cannot be written ({}), so the ranks cannot find each other. Name a file in "
                  "a folder that "
                  "all ranks can write to in DLSCALE_RENDEZVOUS.",
                  path.string(), std::generic_category().message(error)));
}

}  // namespace

void write_page(const std::filesystem::path& path, const RendezvousPage& page) {
  const Header header{our_kind, page.meeting, page.rank, page.world, page.body.size()};
  // The host's name keeps two nodes apart whose processes have the same number.
  std::array<char, 64> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  const std::filesystem::path part =
      fmt::format("{}.{}.{}.part", path.string(), host.data(), ::getpid());
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(reinterpret_cast<const char*>(page.body.data()),
             static_cast<std::streamsize>(page.body.size()));
  file.close();
  if (!file) throw_unwritable(path, errno);
  std::error_code error;
  std::filesystem::rename(part, path, error);
  if (error) throw_unwritable(path, error.value());
}

std::optional<RendezvousPage> read_page(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  Header header;
  if (text.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, text.data(), sizeof header);
  if (header.kind != our_kind || header.bytes != text.size() - sizeof header) return std::nullopt;
  RendezvousPage page{header.meeting, header.rank, header.world, {}};
  page.body.resize(header.bytes);
  if (!page.body.empty()) std::memcpy(page.body.data(), text.data() + sizeof header, header.bytes);
  return page;
}

}  // namespace dlscale::backend::gpu_comm
