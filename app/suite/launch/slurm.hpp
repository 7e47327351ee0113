#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::app {

/// A node as sinfo(1) tells of it.
struct SlurmNode {
  std::string name;
  std::string state;   ///< "idle", "down*"; * is Slurm's mark of a node that does not answer
  std::string reason;  ///< why it is not in use; may be empty
  /// Whether a job may be put on it now or after others.
  [[nodiscard]] bool usable() const;
  /// Whether it may be put there at once.
  [[nodiscard]] bool idle() const;
  /// Whether what runs there is lost, too: it does not answer, or is down.
  [[nodiscard]] bool lost() const;
  bool operator==(const SlurmNode&) const = default;
};

/// Lines of name|state|reason. A node is told of once for each partition it is in.
std::vector<SlurmNode> parse_nodes(std::string_view lines);

/// "node3 (down*: Not responding), …", of those that are not usable, or of those that are lost;
/// empty if there are none.
std::string unusable_text(const std::vector<SlurmNode>& nodes);
std::string lost_text(const std::vector<SlurmNode>& nodes);

/// How a job stands, or ended.
struct SlurmJob {
  std::string state;  ///< "PENDING", "RUNNING", "COMPLETED", "CANCELLED"; empty: not known any more
  std::string reason;  ///< why it waits or ended so: "ReqNodeNotAvail, UnavailableNodes:node3"
  [[nodiscard]] bool ended() const;
  bool operator==(const SlurmJob&) const = default;
};

/// What "scontrol show job --oneliner" prints.
SlurmJob parse_job(std::string_view line);

/// The number in what "sbatch --parsable" prints, "17" or "17;cluster"; empty if there is none.
std::string parse_submission(std::string_view text);

/// Of a partition, or of a list of nodes ("node[1-3]") where one is given. Throws LibraryError with
/// what sinfo says.
std::vector<SlurmNode> slurm_nodes(const std::string& partition, const std::string& names = "");

/// Throws LibraryError if Slurm does not answer.
SlurmJob slurm_job(const std::string& job);

/// Hands a script to sbatch and returns the number of the job. Throws ConfigError with what sbatch
/// says.
std::string submit_to_slurm(const std::string& script);

}  // namespace dlscale::app
