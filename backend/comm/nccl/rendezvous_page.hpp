#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/ids.hpp"

namespace dlscale::backend::gpu_comm {

/// What one file of a rendezvous holds. Ranks share a machine type, so numbers are as in memory.
struct RendezvousPage {
  std::uint64_t meeting = 0;
  std::int32_t rank = 0;
  std::int32_t world = 0;
  std::vector<std::byte> body;
};

/// Writes a file beside `path` and renames it, so that nobody sees a part of it. Throws ConfigError
/// with the system's reason.
void write_page(const std::filesystem::path& path, const RendezvousPage& page);

/// Nothing if there is no file, or one that is not (yet) whole or not ours.
std::optional<RendezvousPage> read_page(const std::filesystem::path& path);

}  // namespace dlscale::backend::gpu_comm
