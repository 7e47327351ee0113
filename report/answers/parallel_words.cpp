#include "report/answers/parallel_words.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/answer_json.hpp"
#include "report/answers/prediction_verdict.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report {
namespace {

constexpr double giga_bytes = 1e-9;

}  // namespace

std::string plan_text(const Json& plan) {
  auto text = plan.at("plan").get<std::string>();
  return text.empty() ? "data=1" : text;
}

std::string with_blanks(std::string_view text) {
  std::string words;
  for (const char letter : text) {
    words += letter;
    if (letter == ',') words += ' ';
  }
  return words;
}

std::string plan_words(const Json& plan) {
  return with_blanks(plan_text(plan));
}

std::string iteration_text(const Json& plan) {
  const std::string ends = iteration_interval(plan);
  return to_text(Seconds(plan.at("t_iter_s").get<double>())) +
         (ends.empty() ? "" : fmt::format(" (90 % interval {})", ends));
}

std::string iteration_ends(const Json& plan) {
  const std::string ends = iteration_interval(plan);
  return ends.empty() ? "no interval" : ends;
}

std::string iteration_detail(const Json& plan) {
  const std::string ends = iteration_interval(plan);
  return ends.empty() ? "no interval" : ends + " (90 %)";
}

std::string rate_detail(const Json& plan, const char* key, std::string (*text)(double)) {
  const auto low = number_in(plan, "t_iter_low_s");
  const auto high = number_in(plan, "t_iter_high_s");
  if (!low || !high || !(*low > 0) || !(*high > 0)) return "no interval";
  const double work = plan.at(key).get<double>() * plan.at("t_iter_s").get<double>();
  return from_to(text(work / *high), text(work / *low)) + " (90 %)";
}

std::string speedup_detail(const Json& row) {
  const auto low = number_in(row, "speedup_low");
  const auto high = number_in(row, "speedup_high");
  const std::string efficiency = "efficiency " + percent(row.at("efficiency").get<double>());
  if (!low || !high || *low == *high) return efficiency;
  return fmt::format("{} (90 %); {}", from_to(significant(*low, 3), significant(*high, 3)),
                     efficiency);
}

std::string framework_clause(const Json& plan) {
  const auto title = plan.find("not_run_by");
  return title == plan.end()
             ? ""
             : fmt::format("; {} as published does not run this plan", title->get<std::string>());
}

std::string gigabytes(double bytes) {
  return significant(giga_bytes * bytes, 3) + " GB";
}

std::string device_memory_text(double bytes) {
  return fmt::format("{} ({:.3g} GiB)", gigabytes(bytes), bytes / (1U << 30U));
}

bool is_measured(const Json& answer) {
  const auto options = answer.find("options");
  return options != answer.end() && options->contains("measured");
}

std::string basis_of_sheets(bool measured) {
  return measured ? "data sheets and published trainings, moved by your measured points"
                  : "data sheets and published trainings; nothing was measured here";
}

Badge sheet_badge(const Json& answer, const Json& plan) {
  return interval_badge(basis_of_sheets(is_measured(answer)), "the iteration",
                        {plan.at("t_iter_s").get<double>(), number_in(plan, "t_iter_low_s"),
                         number_in(plan, "t_iter_high_s")});
}

std::string interval_doubt(const TimeRange& time, const char* what) {
  const auto [seconds, low, high] = time;
  if (!low || !high) return fmt::format("the interval of {} is unknown", what);
  const bool is_wide = *high > 1.5 * seconds || *low < 0.5 * seconds;
  return is_wide ? fmt::format("an end of the interval of {} is more than half of it away", what)
                 : "";
}

Badge interval_badge(const std::string& basis, const char* what, const TimeRange& time) {
  const std::string doubt = interval_doubt(time, what);
  return doubt.empty() ? usable_data(basis + ".")
                       : doubtful_data(fmt::format("{}, and {}.", basis, doubt));
}

Section changes_section(const std::vector<ChangedPlan>& plans, ChangeHeadings headings) {
  Table table{"The best with one choice made otherwise",
              {{"change", Align::left},
               {headings.time},
               {headings.further, Align::left},
               {"against the best"}},
              {},
              {}};
  for (const ChangedPlan& plan : plans) {
    table.rows.push_back(
        {{plan.change}, {plan.time}, plan.further, {signed_percent(plan.of_best - 1)}});
  }
  return {"neighbours", "What another choice loses", {std::move(table)}};
}

Section notes_section(const Json& answer) {
  Items items{{is_measured(answer)
                   ? "Times are predicted from data sheets, published trainings and your points."
                   : "Times are predicted from data sheets and published trainings."}};
  const auto notes = answer.find("notes");
  if (notes != answer.end()) {
    for (const auto& note : notes->get<std::vector<std::string>>()) items.lines.push_back(note);
  }
  return {"notes", "What this rests on", {std::move(items)}};
}

}  // namespace dlscale::report
