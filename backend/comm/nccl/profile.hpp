#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "backend/comm/nccl/profiler/note.hpp"

namespace dlscale::backend::gpu_comm {

/// Where our profiler plugin for NCCL lies: beside the installed program or where it was built.
/// Empty if it is in neither place.
std::filesystem::path find_profiler();

/// Names the plugin in NCCL_PROFILER_PLUGIN, which NCCL reads when it makes the first communicator,
/// unless the user named another or there is none.
void offer_profiler();

/// What NCCL tells the plugin about the operations of this process. One at a time.
class Profile {
 public:
  /// The plugin that was offered. Throws Unsupported, in one sentence, if it was not.
  Profile();
  /// Any plugin of ours.
  explicit Profile(const std::filesystem::path& plugin);
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// What was told since this was made or the last call, oldest first.
  std::vector<nccl_profiler::Note> read();

 private:
  nccl_profiler::WatchFunction watch_ = nullptr;
  nccl_profiler::ReadFunction read_ = nullptr;
};

}  // namespace dlscale::backend::gpu_comm
