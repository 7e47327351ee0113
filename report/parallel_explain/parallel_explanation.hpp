#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/parallel/explain/group_links.hpp"
#include "model/parallel/explain/improvements.hpp"
#include "model/parallel/explain/step_losses.hpp"
#include "model/parallel/timeline/timeline.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Why a plan takes its time.
struct ParallelExplanation {
  std::string network;
  std::string cluster;
  std::string plan;  ///< as command lines have it
  int gpus = 1;
  model::parallel_time::ParallelAnswer answer;
  std::vector<model::parallel_time::StepPart> parts;
  double device_bytes = 1;                                      ///< that a process can allocate
  std::vector<model::parallel_time::Improvement> improvements;  ///< the best first
  /// Whether its step is one to compare others with: not one that waits for memory that it lacks.
  [[nodiscard]] bool is_real() const { return answer.verdict.fits || answer.waits.likely <= 1; }
  std::vector<int> measured = {};        ///< numbers of GPUs of measured points
  std::vector<std::string> doubts = {};  ///< on these points, in sentences
  std::vector<model::parallel_time::GroupLink> groups;
  std::string near_link;  ///< name of the links within nodes
  std::string far_link;   ///< of those between nodes
  /// Absent for plans of one stage.
  std::optional<model::parallel_time::ParallelTimeline> timeline = {};
};

/// Explanations of plans by four tables each: parts of the step, changes that help, the groups of
/// ranks and the links that they cross, and the time of each stage as simulated. JSON: {"schema":
/// "dlscale.parallel_explanation", "version": 1, "explanations": [{"network", "cluster", "plan",
/// "gpus", "t_iter_s", its interval, "free_bytes" of the fullest rank, "t_simulated_s", "parts",
/// "improvements", "groups", "stages"}, …]}. Requires ≥ 1.
Document parallel_explanation_document(std::span<const ParallelExplanation> explanations);

}  // namespace dlscale::report
