#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "report/numbers.hpp"
#include "report/roofline_table.hpp"

namespace dlscale::report {
namespace {

using model::Candidate;

/// The best that fits; none: null.
const Candidate* best_of(const LayerChoice& choice) {
  const bool there = !choice.candidates.empty() && choice.candidates.front().fits;
  return there ? &choice.candidates.front() : nullptr;
}

Seconds total(const std::vector<LayerChoice>& choices) {
  Seconds sum;
  for (const LayerChoice& choice : choices) {
    if (const Candidate* best = best_of(choice)) sum += best->prediction.time.value;
  }
  return sum;
}

std::string interval_text(const model::Estimate<Seconds>& time) {
  return fmt::format("{} to {}", milliseconds(time.low), milliseconds(time.high));
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

std::vector<Cell> cells_of(const LayerChoice& choice) {
  std::vector<Cell> cells{{choice.layer}, {std::string(pass_name(choice.pass))}};
  const Candidate* best = best_of(choice);
  if (best == nullptr) {
    cells.push_back(
        {choice.candidates.empty() ? "no model offers it" : "none fits", Tone::caution});
    cells.resize(cells.size() + 6);
    return cells;
  }
  const auto& prediction = best->prediction;
  cells.push_back({best->way.algorithm()});
  cells.push_back({milliseconds(prediction.time.value)});
  cells.push_back({interval_text(prediction.time)});
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
      "the interval is that of measured over predicted at shapes left out of a fit",
      "layers that run the same kernel are named by the first of them",
      "workspace: what our own code declares, and what was measured of others'; with ≤ "
      "the largest share of the tensors' bytes that was measured of the algorithm, which "
      "a shape unlike those may exceed; by the formula, where none was measured: under "
      "a limit such an algorithm counts as one that does not fit"};
  return table;
}

Table records(const std::vector<LayerChoice>& choices) {
  Table table;
  for (const char* key :
       {"layer", "kernel", "pass", "rank", "backend", "algorithm", "predicted_s", "low_s", "high_s",
        "naive_s", "workspace_bytes", "workspace_basis", "fits", "beyond"}) {
    table.columns.push_back({key});
  }
  for (const LayerChoice& choice : choices) {
    for (std::size_t rank = 0; rank < choice.candidates.size(); ++rank) {
      const auto& [way, prediction, workspace, fits] = choice.candidates[rank];
      table.rows.push_back({{choice.layer},
                            {choice.kernel},
                            {std::string(pass_name(choice.pass))},
                            {std::to_string(rank + 1)},
                            {way.backend},
                            {std::string(lowering::method_name(way.method))},
                            {exact(prediction.time.value.si())},
                            {exact(prediction.time.low.si())},
                            {exact(prediction.time.high.si())},
                            {exact(prediction.naive.si())},
                            {exact(workspace.size.si())},
                            {std::string(model::workspace_basis_name(workspace.basis))},
                            {fits ? "true" : "false"},
                            {fmt::format("{}", fmt::join(prediction.beyond, " "))}});
    }
  }
  return table;
}

}  // namespace

Document choice_document(const std::string& network, int batch, std::optional<Bytes> limit,
                         const std::vector<LayerChoice>& choices) {
  const auto none = std::ranges::count_if(
      choices, [](const LayerChoice& choice) { return best_of(choice) == nullptr; });
  std::string lead = fmt::format(
      "The {} distinct convolution passes of {} at batch {} take {} by the fastest algorithms{}.",
      choices.size(), network, batch, to_text(total(choices)),
      limit ? fmt::format(" with at most {} of workspace", to_text(*limit)) : "");
  if (none > 0) lead += fmt::format(" For {} of them no algorithm is known that fits.", none);
  return {std::move(lead),
          {choices_table(choices)},
          records(choices),
          choice_json(network, batch, limit, choices)};
}

}  // namespace dlscale::report
