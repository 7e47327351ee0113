#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/base/ids.hpp"
#include "core/results/communication_profile.hpp"
#include "core/results/measurement.hpp"
#include "train/trainer.hpp"

namespace dlscale::bench {

/// The result file of --profile: the messages between ranks of training runs. Rank 0 writes it. The
/// destructor writes the closing line, unless a signal or an exception is the cause.
class ProfileFile {
 public:
  /// Writes nothing yet. `options` are those of the command line.
  ProfileFile(std::filesystem::path path, std::map<std::string, std::string> options);
  ~ProfileFile();
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;

  /// Creates the file at the first call, for runs with these libraries (name → version). Throws
  /// ConfigError as ResultWriter and refuse_shared_output() do, with messages that name --profile.
  void open(const std::map<std::string, std::string>& libraries);
  /// Collective: rank 0 opens the file. If it cannot, throws FoundByAll on all ranks.
  void open_on_first(backend::Communicator& communicator,
                     const std::map<std::string, std::string>& libraries);
  /// Writes a profile, after open(). Throws ConfigError if the file already has a run with these
  /// axes or cannot be written.
  void write(const CommunicationProfile& profile);

 private:
  std::filesystem::path path_;
  std::map<std::string, std::string> options_;
  std::optional<ResultWriter> writer_;
  std::set<std::map<std::string, std::string>> written_;
};

/// Combines this rank's recorded iterations with those of all ranks, without axes. All ranks
/// recorded the same messages. Empty if there are none. Collective, with the same result on every
/// rank.
std::optional<CommunicationProfile> gather_profile(
    backend::Communicator& communicator,
    const std::vector<std::vector<train::SentMessage>>& iterations);

/// Path of a rank's trace for bench e2e --trace TRACE: TRACE-rank0.json and so on.
inline std::filesystem::path trace_path(const std::filesystem::path& trace, Rank rank) {
  return trace.string() + "-rank" + std::to_string(rank) + ".json";
}

}  // namespace dlscale::bench
