#pragma once
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::suite {

/// A node as reported by sinfo(1).
struct SlurmNode {
  std::string name;
  std::string state;   ///< "idle", "down*"; * marks a node that does not answer
  std::string reason;  ///< reason why it is out of use; may be empty
  /// Whether a job may run on it now or after others.
  [[nodiscard]] bool usable() const;
  /// Whether a job may run on it at once.
  [[nodiscard]] bool idle() const;
  /// Whether jobs on it are lost: it does not answer, or is down.
  [[nodiscard]] bool lost() const;
  bool operator==(const SlurmNode&) const = default;
};

/// Reads lines of name|state|reason. A node appears once for each of its partitions.
std::vector<SlurmNode> parse_nodes(std::string_view lines);

/// "node3 (down*: Not responding), …": the nodes that are not usable, or those that are lost; empty
/// if there are none.
std::string unusable_text(const std::vector<SlurmNode>& nodes);
std::string lost_text(const std::vector<SlurmNode>& nodes);

/// The state of a job.
struct SlurmJob {
  std::string state;  ///< "PENDING", "RUNNING", "COMPLETED", "CANCELLED"; empty: not known any more
  std::string reason;  ///< why it waits or ended: "ReqNodeNotAvail, UnavailableNodes:node3"
  [[nodiscard]] bool ended() const;
  bool operator==(const SlurmJob&) const = default;
};

/// Reads the output of "scontrol show job --oneliner".
SlurmJob parse_job(std::string_view line);

/// The job number in the output of "sbatch --parsable", "17" or "17;cluster"; empty if there is
/// none.
std::string parse_submission(std::string_view text);

/// The nodes of a partition, or of a list of nodes ("node[1-3]") if one is given. Throws
/// LibraryError with sinfo's message.
std::vector<SlurmNode> slurm_nodes(const std::string& partition, const std::string& names = "");

/// Throws LibraryError if Slurm does not answer.
SlurmJob slurm_job(const std::string& job);

/// Submits a script by sbatch and returns the job number. Throws ConfigError with sbatch's message.
std::string submit_to_slurm(const std::string& script);

/// Retry policy for a scheduler that does not answer. Its programs fail for a while if its daemon
/// is busy or restarts; a job that is waited for is not given up for that.
class Patience {
 public:
  using Seconds = std::chrono::seconds;

  /// The pause before the next try: twice as long each time, up to a minute. Nothing after ten
  /// minutes of silence.
  std::optional<Seconds> next_pause() {
    if (waited_ >= most) return std::nullopt;
    const Seconds pause = pause_;
    waited_ += pause;
    pause_ = std::min(2 * pause_, Seconds(60));
    return pause;
  }
  /// Whether next_pause() was never called.
  [[nodiscard]] bool is_new() const { return waited_ == Seconds(0); }

  static constexpr Seconds most{600};

 private:
  Seconds pause_{1};
  Seconds waited_{0};
};

}  // namespace dlscale::suite
