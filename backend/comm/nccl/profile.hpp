#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "backend/comm/nccl/profiler/plugin.hpp"

namespace dlscale::backend::gpu_comm {

/// Path of our profiler plugin for NCCL: beside the installed program or in the build folder. Empty
/// if neither has it.
std::filesystem::path find_profiler();

/// Names the plugin in NCCL_PROFILER_PLUGIN, which NCCL reads when it makes the first communicator,
/// unless the user named another one or there is none.
void offer_profiler();

/// NCCL's reports to the plugin about the operations of this process. One at a time.
class Profile {
 public:
  /// Uses the plugin of offer_profiler(). Throws Unsupported, in one sentence, if there is none.
  Profile();
  /// Uses the given plugin of ours.
  explicit Profile(const std::filesystem::path& plugin);
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Notes since construction or the last call, oldest first.
  std::vector<nccl_profiler::Note> read();

 private:
  nccl_profiler::WatchFunction watch_ = nullptr;
  nccl_profiler::ReadFunction read_ = nullptr;
};

}  // namespace dlscale::backend::gpu_comm
