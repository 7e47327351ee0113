#pragma once
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

/// The part of NCCL's profiler interface that this plugin uses. Our own declarations of the layouts
/// that NCCL documents in ext-profiler/README.md ("API (v5)") and
/// src/include/plugin/profiler/profiler_v4.h and profiler_v5.h [github.com/NVIDIA/nccl, tag
/// v2.28.9-1]. Version 5 came with NCCL 2.28, version 4 with 2.27; NCCL takes the latest it knows.
namespace dlscale::nccl_profiler {

/// ncclSuccess. A plugin returns nothing else, except for an error of init.
inline constexpr int success = 0;

/// Bits of a descriptor's type and of the activation mask.
enum EventType : std::uint64_t {
  group_event = 1U,                 ///< ncclProfileGroup
  collective_event = 1U << 1U,      ///< ncclProfileColl
  point_to_point_event = 1U << 2U,  ///< ncclProfileP2p
};

/// Details of a collective_event.
struct CollectiveEvent {
  std::uint64_t number;
  const char* function;
  const void* from;
  void* to;
  std::size_t count;
  int root;
  const char* element;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* parent_group;  ///< version 5 only
};

/// Details of a point_to_point_event.
struct PointToPointEvent {
  const char* function;
  void* memory;
  const char* element;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* parent_group;  ///< version 5 only
};

/// Events of other types have other members here; no member is larger than CollectiveEvent.
union EventDetail {
  CollectiveEvent collective;
  PointToPointEvent point_to_point;
};

/// ncclProfilerEventDescr_v5_t
struct Event5 {
  std::uint64_t type;
  void* parent;
  int rank;
  EventDetail detail;
};

/// ncclProfilerEventDescr_v4_t
struct Event4 {
  std::uint8_t type;
  void* parent;
  int rank;
  EventDetail detail;
};

/// ncclDebugLogger_t, which this plugin does not call.
using Logger = void (*)();

/// ncclProfiler_v5_t
struct Profiler5 {
  const char* name;
  int (*init)(void** context, std::uint64_t communicator, int* activation, const char* name,
              int nodes, int ranks, int rank, Logger logger);
  int (*start)(void* context, void** handle, Event5* event);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

/// ncclProfiler_v4_t
struct Profiler4 {
  const char* name;
  int (*init)(void** context, int* activation, const char* name, std::uint64_t communicator,
              int nodes, int ranks, int rank, Logger logger);
  int (*start)(void* context, void** handle, Event4* event);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

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
