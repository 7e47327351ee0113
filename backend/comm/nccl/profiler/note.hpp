#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace dlscale::nccl_profiler {

/// NCCL's report on one operation. A plain type, because it crosses from the plugin to the program.
struct Note {
  std::array<char, 64> communicator{};  ///< name in its configuration
  std::array<char, 24> function{};      ///< "AllReduce", "Send"
  std::array<char, 24> algorithm{};     ///< "RING", "TREE", "NVLS"; empty for point-to-point
  std::array<char, 24> protocol{};      ///< "LL", "LL128", "SIMPLE"; empty for point-to-point
  std::array<char, 24> element{};       ///< "ncclFloat32"; bytes for all-gather and broadcast
  std::uint64_t count = 0;
  std::int32_t rank = 0;
  std::int32_t channels = 0;
  std::int32_t warps = 0;
};

/// Names of the plugin functions that the program calls. While watching is on, NCCL reports every
/// operation that is enqueued in this process; while off, it costs a load and a test.
extern "C" {
using WatchFunction = void (*)(int on);
/// Moves out up to `most` notes, oldest first; returns how many. `lost` receives the number of
/// notes that were overwritten before a read.
using ReadFunction = std::size_t (*)(Note* notes, std::size_t most, std::uint64_t* lost);
}
inline constexpr const char* watch_symbol = "dlscale_nccl_profiler_watch";
inline constexpr const char* read_symbol = "dlscale_nccl_profiler_read";

}  // namespace dlscale::nccl_profiler
