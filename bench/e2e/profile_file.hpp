#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/results/communication_profile.hpp"
#include "core/results/measurement.hpp"
#include "train/trainer.hpp"

namespace dlscale::bench {

/// The result file that --profile names, of what the ranks of training runs sent each other. Rank 0
/// writes it. It is closed by its last line when the object goes, unless a signal or an exception
/// is why.
class ProfileFile {
 public:
  /// Writes nothing yet. `options` are those of the command line.
  ProfileFile(std::filesystem::path path, std::map<std::string, std::string> options);
  ~ProfileFile();
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;

  /// Makes the file where it was not made yet, for runs with these libraries (name → version).
  /// Throws ConfigError as ResultWriter and refuse_shared_output(), in words that name --profile.
  void open(const std::map<std::string, std::string>& libraries);
  /// Collective: rank 0 opens it. If it cannot, throws FoundByAll on all ranks.
  void open_on_first(backend::Communicator& communicator,
                     const std::map<std::string, std::string>& libraries);
  /// After open(). Throws ConfigError if the file holds a run with these axes already, or cannot be
  /// written.
  void write(const CommunicationProfile& profile);

 private:
  std::filesystem::path path_;
  std::map<std::string, std::string> options_;
  std::optional<ResultWriter> writer_;
  std::set<std::map<std::string, std::string>> written_;
};

/// What the ranks sent, without axes, from what this rank recorded of each iteration. All ranks
/// recorded the same messages. Nothing if that is none. Collective, with the same answer on every
/// rank.
std::optional<CommunicationProfile> gather_profile(
    backend::Communicator& communicator,
    const std::vector<std::vector<train::SentMessage>>& iterations);

}  // namespace dlscale::bench
