#pragma once
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "report/page/blocks.hpp"

namespace dlscale::report {

// Words of plans in JSON that their pages share.

/// The plan as command lines have it; "data=1" for one rank, whose plan has no words.
std::string plan_text(const nlohmann::json& plan);

/// The same in prose, where lines may break: "tensor=4, zero=1".
std::string plan_words(const nlohmann::json& plan);

/// "1.91 s (90 % interval 1.52 s to 2.72 s)"; without the bracket if an end is null.
std::string iteration_text(const nlohmann::json& plan);

/// "1.52 s to 2.72 s (90 %)"; "no interval" if an end is null.
std::string iteration_ends(const nlohmann::json& plan);

/// "; torchtitan as published does not run this plan"; empty if the framework of the plan does.
std::string framework_clause(const nlohmann::json& plan);

/// "27.99 GB".
std::string gigabytes(double bytes);

/// Usable, or doubtful if an end of the interval is farther than half of the iteration.
/// It says whether points were measured, and is of one `plan` of the answer.
Badge sheet_badge(const nlohmann::json& answer, const nlohmann::json& plan);

/// Whether the options of an answer name measured points.
bool is_measured(const nlohmann::json& answer);

/// The best plan with one choice made otherwise.
struct ChangedPlan {
  std::string change;  ///< "tensor 4 instead of 2"
  std::string time;    ///< with its unit
  double of_best = 1;  ///< over that of the best
  Cell further = {};
};

/// Headings of the time and of the further cell.
struct ChangeHeadings {
  const char* time;
  const char* further;
};

/// The section "neighbours": what each of these choices costs.
Section changes_section(const std::vector<ChangedPlan>& plans, ChangeHeadings headings);

/// The notes of an answer as a section "notes".
Section notes_section(const nlohmann::json& answer);

}  // namespace dlscale::report
