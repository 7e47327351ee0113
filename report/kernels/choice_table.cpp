#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/kernels/kernel_tables.hpp"
#include "report/kernels/roofline_table.hpp"
#include "report/table/field_table.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report {
namespace {

using model::Candidate;

/// The best candidate that fits; nullptr if none does.
const Candidate* best_of(const LayerChoice& choice) {
  const bool there = !choice.candidates.empty() && choice.candidates.front().fits;
  return there ? &choice.candidates.front() : nullptr;
}

/// The candidate that fits first if the limit is raised: the one with the least workspace. Ignores
/// workspaces known only from a formula; nullptr if none is left.
const Candidate* least_of(const LayerChoice& choice) {
  const Candidate* least = nullptr;
  for (const Candidate& each : choice.candidates) {
    if (each.workspace.basis == model::WorkspaceBasis::formula) continue;
    if (least == nullptr || each.workspace.size < least->workspace.size) least = &each;
  }
  return least;
}

Seconds total(const std::vector<LayerChoice>& choices) {
  Seconds sum;
  for (const LayerChoice& choice : choices) {
    if (const Candidate* best = best_of(choice)) sum += best->prediction.time.value;
  }
  return sum;
}

std::string estimate_interval(const model::Estimate<Seconds>& time) {
  return from_to(milliseconds(time.low), milliseconds(time.high));
}

Cell workspace_cell(const model::Workspace& workspace) {
  const std::string size = to_text(workspace.size);
  switch (workspace.basis) {
    case model::WorkspaceBasis::declared:
    case model::WorkspaceBasis::measured:
      return {size};
    case model::WorkspaceBasis::bounded:
      return {"≤ " + size};
    case model::WorkspaceBasis::formula:
      return {size + " by the formula", Tone::caution};
  }
  fail_expectation("basis is one of WorkspaceBasis");
}

/// Cells in place of an algorithm, a time, its interval and a workspace.
std::vector<Cell> cells_of_none(const LayerChoice& choice) {
  if (choice.candidates.empty()) {
    const bool none = choice.untold.empty();
    return {
        {none ? "no model offers it" : "nothing like it was measured", Tone::caution}, {}, {}, {}};
  }
  const Candidate* least = least_of(choice);
  if (least == nullptr) return {{"none is known to fit", Tone::caution}, {}, {}, {}};
  return {{fmt::format("none fits; {} needs least", least->way.algorithm()), Tone::caution},
          {},
          {},
          workspace_cell(least->workspace)};
}

std::vector<Cell> cells_of(const LayerChoice& choice) {
  std::vector<Cell> cells{{choice.layer}, {std::string(pass_name(choice.pass))}};
  const Candidate* best = best_of(choice);
  if (best == nullptr) {
    std::ranges::move(cells_of_none(choice), std::back_inserter(cells));
    cells.resize(cells.size() + 3);
    return cells;
  }
  const auto& prediction = best->prediction;
  cells.push_back({best->way.algorithm()});
  cells.push_back({milliseconds(prediction.time.value)});
  cells.push_back({estimate_interval(prediction.time)});
  cells.push_back(workspace_cell(best->workspace));
  cells.push_back(
      prediction.extrapolated()
          ? Cell{fmt::format("beyond in {}", fmt::join(prediction.beyond, ", ")), Tone::caution}
          : Cell{"interpolated"});
  const bool another = choice.candidates.size() > 1 && choice.candidates[1].fits;
  cells.push_back({another ? choice.candidates[1].way.algorithm() : "–"});
  cells.push_back({another ? milliseconds(choice.candidates[1].prediction.time.value) : "–"});
  return cells;
}

/// Notes the algorithms left out for lack of measurements, with their number of passes of layers.
void note_untold(Table& table, const std::vector<LayerChoice>& choices) {
  std::map<std::string, int> passes;
  for (const LayerChoice& choice : choices) {
    for (const model::Way& way : choice.untold) ++passes[way.algorithm()];
  }
  if (passes.empty()) return;
  std::vector<std::string> parts;
  parts.reserve(passes.size());
  for (const auto& [algorithm, times] : passes) {
    parts.push_back(fmt::format("{} at {}", algorithm, times));
  }
  table.notes.push_back(fmt::format(
      "left out, as no shape was measured that has a part of what they do there, such as filters "
      "of 1 x 1 or a stride: {}. Measure this network by all algorithms",
      fmt::join(parts, ", ")));
}

Table choices_table(const std::vector<LayerChoice>& choices) {
  Table table;
  table.title = "The fastest algorithm by prediction";
  table.columns = {{"layer", Align::left},
                   {"pass", Align::left},
                   {"algorithm", Align::left},
                   {"predicted ms"},
                   {"95 % interval"},
                   {"workspace"},
                   {"of sizes fitted", Align::left},
                   {"next best", Align::left},
                   {"predicted ms"}};
  for (const LayerChoice& choice : choices) table.rows.push_back(cells_of(choice));
  table.notes = {
      "the interval is that of measured over predicted at shapes left out of a fit, widened with "
      "the distance from the sizes fitted; where there is less to do than at any shape fitted, no "
      "measurement tells what a call alone costs, and the interval goes up to the fastest of them",
      "layers that run the same kernel are named by the first of them",
      "workspace: what our own code declares, and what was measured of others'; with ≤ "
      "the largest share of the tensors' bytes that was measured of the algorithm, which "
      "a shape unlike those may exceed; by the formula, where none was measured: under "
      "a limit such an algorithm counts as one that does not fit"};
  note_untold(table, choices);
  return table;
}

/// One of the algorithms for a step.
struct CandidateRow {
  const LayerChoice* choice;
  const Candidate* candidate;
  std::size_t rank;  ///< 1 is the best
};

std::vector<CandidateRow> candidate_rows(const LayerChoice& choice) {
  std::vector<CandidateRow> rows;
  for (const Candidate& each : choice.candidates) rows.push_back({&choice, &each, rows.size() + 1});
  return rows;
}

Fields<CandidateRow> candidate_fields() {
  using F = Field<CandidateRow>;
  using enum Meaning;
  using model::Way;
  const auto of_choice = [](auto... path) { return via(&CandidateRow::choice, path...); };
  const auto its = [](auto... path) { return via(&CandidateRow::candidate, path...); };
  const auto prediction = [](const CandidateRow& row) -> const model::KernelPrediction& {
    return row.candidate->prediction;
  };
  const auto beyond = [](const CandidateRow& row) {
    return beyond_text(row.candidate->prediction, " ");
  };
  auto fields = joined<CandidateRow>({
      {F::record("layer", key, of_choice(&LayerChoice::layer)),
       F::record("kernel", key, of_choice(&LayerChoice::kernel)),
       F::record("pass", key, of_choice(&LayerChoice::pass, pass_name)),
       F::record("rank", value, &CandidateRow::rank),
       F::json("way", its(&Candidate::way, way_object)),
       F::record("backend", key, its(&Candidate::way, &Way::backend)),
       F::record("algorithm", key, its(&Candidate::way, &Way::method, convolution::method_name)),
       F::json("predicted", its(&Candidate::prediction, kernel_prediction_object))},
      part_of<CandidateRow>(predicted_fields(), prediction),
      {{"workspace_bytes", value, its(&Candidate::workspace, &model::Workspace::size)},
       {"workspace_basis", remark,
        its(&Candidate::workspace, &model::Workspace::basis, model::workspace_basis_name)},
       {"fits", state, its(&Candidate::fits)},
       F::record("beyond", remark, beyond)},
  });
  std::ranges::find(fields, "fits", &F::key)->states = {"true", "false"};
  return fields;
}

Table records(const std::vector<LayerChoice>& choices) {
  std::vector<CandidateRow> rows;
  for (const LayerChoice& choice : choices)
    std::ranges::move(candidate_rows(choice), std::back_inserter(rows));
  return records_of(candidate_fields(), rows);
}

Json layer_object(const LayerChoice& choice) {
  Json untold = Json::array();
  for (const model::Way& way : choice.untold) untold.push_back(way_object(way));
  return {{"layer", choice.layer},
          {"kernel", choice.kernel},
          {"pass", pass_name(choice.pass)},
          {"candidates", list_of(candidate_fields(), candidate_rows(choice))},
          {"untold", std::move(untold)}};
}

std::string limit_text(std::optional<Bytes> limit) {
  return limit ? fmt::format(" with at most {} of workspace", to_text(*limit)) : "";
}

std::string choice_lead(const std::string& network, int batch, std::optional<Bytes> limit,
                        const std::vector<LayerChoice>& choices) {
  const std::size_t all = choices.size();
  const auto none = static_cast<std::size_t>(std::ranges::count_if(
      choices, [](const LayerChoice& choice) { return best_of(choice) == nullptr; }));
  if (none == 0) {
    return fmt::format(
        "The {} distinct convolution passes of {} at batch {} take {} by the fastest "
        "algorithms{}.",
        all, network, batch, to_text(total(choices)), limit_text(limit));
  }
  if (none == all) {
    return fmt::format(
        "Of none of the {} distinct convolution passes of {} at batch {} is it known that an "
        "algorithm fits{}, since nothing but formulas tells what the libraries take. Measure them "
        "again by all algorithms with this version.",
        all, network, batch, limit_text(limit));
  }
  return fmt::format(
      "The fastest algorithms{} take {} for {} of the {} distinct convolution passes of {} at "
      "batch {}. For {} of them {}.",
      limit_text(limit), to_text(total(choices)), all - none, all, network, batch, none,
      limit ? "no algorithm is known that fits" : "no model tells a time");
}

/// Rounded up, so that parse_quantity() does not read less.
std::string enough_text(Bytes size) {
  return fmt::format("{:.0f} KiB", std::ceil(size.si() / 1024));
}

}  // namespace

std::string nothing_fits(const std::string& network, int batch, Bytes limit,
                         const std::vector<LayerChoice>& choices) {
  const LayerChoice* where = nullptr;
  Bytes least;
  Bytes most;  // largest of the least requirements: with it, every choice has a candidate that fits
  std::size_t known = 0;
  for (const LayerChoice& choice : choices) {
    if (best_of(choice) != nullptr) return "";
    const Candidate* mine = least_of(choice);
    if (mine == nullptr) continue;
    ++known;
    most = std::max(most, mine->workspace.size);
    if (where != nullptr && mine->workspace.size >= least) continue;
    where = &choice;
    least = mine->workspace.size;
  }
  if (where == nullptr) return "";
  return fmt::format(
      "none of the {} distinct convolution passes of {} at batch {} has an algorithm that fits "
      "into {} of workspace, so that there is nothing to choose: {} at {}, {}, needs least, {}{}. "
      "Allow more workspace, or set no limit.",
      choices.size(), network, batch, to_text(limit), least_of(*where)->way.algorithm(),
      where->layer, pass_name(where->pass), enough_text(least),
      known == choices.size() ? fmt::format(", and with {} every pass has one", enough_text(most))
                              : "");
}

ExitCode exit_code(const std::vector<LayerChoice>& choices) {
  const bool any = std::ranges::any_of(
      choices, [](const LayerChoice& choice) { return best_of(choice) != nullptr; });
  return any ? ExitCode::ok : ExitCode::inconclusive;
}

Document choice_document(const std::string& network, int batch, std::optional<Bytes> limit,
                         const std::vector<LayerChoice>& choices) {
  return {choice_lead(network, batch, limit, choices),
          {choices_table(choices)},
          records(choices),
          json_answer("dlscale.choice", [network, batch, limit, choices] {
            Json layers = Json::array();
            for (const LayerChoice& choice : choices) layers.push_back(layer_object(choice));
            return Json{{"network", network},
                        {"batch", batch},
                        {"workspace_limit_bytes", value_of(limit)},
                        {"layers", std::move(layers)}};
          })};
}

}  // namespace dlscale::report
