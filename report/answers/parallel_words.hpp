#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/page/blocks.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {

// Words of plans in JSON that their pages share.

/// The plan as command lines have it; "data=1" for one rank, whose plan has no words.
std::string plan_text(const Json& plan);

/// The same in prose, where lines may break: "tensor=4, zero=1".
std::string plan_words(const Json& plan);

/// The text with a blank behind each comma, where lines of plans may break.
std::string with_blanks(std::string_view text);

/// "1.91 s (90 % interval 1.52 s to 2.72 s)"; without the bracket if an end is null.
std::string iteration_text(const Json& plan);

/// "1.52 s to 2.72 s", "no interval" if an end is null, for columns whose heading says 90 %.
std::string iteration_ends(const Json& plan);

/// "1.52 s to 2.72 s (90 %)", for tiles.
std::string iteration_detail(const Json& plan);

/// "48,800 to 60,400 (90 %)", for tiles: the interval of a rate or share by that key, which is in
/// inverse proportion to the iteration's.
std::string rate_detail(const Json& plan, const char* key, std::string (*text)(double));

/// "11.6 to 15.2 (90 %); efficiency 84.7 %", for tiles of speed-ups; without an interval the
/// efficiency alone.
std::string speedup_detail(const Json& row);

/// "; torchtitan as published does not run this plan"; empty if the framework of the plan does.
std::string framework_clause(const Json& plan);

/// "27.99 GB".
std::string gigabytes(double bytes);

/// "42.9 GB (40 GiB)", as data sheets have the memory of a device.
std::string device_memory_text(double bytes);

/// A time and the ends of its interval, in s.
struct TimeRange {
  double seconds = 0;
  std::optional<double> low = {};
  std::optional<double> high = {};
};

/// The doubt that an interval leaves: "the interval of the iteration is unknown" where an end is
/// absent, "an end of the interval of the iteration is more than half of it away", else empty.
std::string interval_doubt(const TimeRange& time, const char* what);

/// Usable by that basis; doubtful by interval_doubt() of `what`, "the iteration".
Badge interval_badge(const std::string& basis, const char* what, const TimeRange& time);

/// "data sheets and published trainings; nothing was measured here", or that `measured` points move
/// them.
std::string basis_of_sheets(bool measured);
/// interval_badge() of the iteration of one `plan` of the answer. It says whether points were
/// measured.
Badge sheet_badge(const Json& answer, const Json& plan);

/// Whether the options of an answer name measured points.
bool is_measured(const Json& answer);

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
Section notes_section(const Json& answer);

}  // namespace dlscale::report
