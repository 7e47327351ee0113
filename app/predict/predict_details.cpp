#include "app/predict/predict_details.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>

#include "core/base/error.hpp"
#include "core/results/trace_event.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "model/sgd_iter/iteration_trace.hpp"
#include "model/what_if/explain.hpp"
#include "report/prediction/explanation_table.hpp"
#include "report/prediction/prediction_table.hpp"

namespace dlscale::app {
namespace {

/// Converts advice on batches to global batches, since --batch is refused with --global-batch.
void advise_global_batches(const Run& run, model::Explanation& explanation) {
  for (const std::int64_t batch : {std::int64_t{run.batch} / 2, std::int64_t{run.batch} * 2}) {
    const std::string of_each = fmt::format("--batch {}", batch);
    for (model::Advice& advice : explanation.advice) {
      if (advice.change != of_each) continue;
      advice.change = fmt::format("--global-batch {}", batch * run.ranks);
    }
  }
}

}  // namespace

void ExplainOptions::declare(CLI::App& command) {
  command
      .add_flag("--explain", asked, "Print what bounds the iteration, and what would shorten it")
      ->excludes(command.get_option("--layers"));
}

report::Document ExplainOptions::document(const Network& network, const model::Machine& machine,
                                          Run run, const std::vector<int>& ranks,
                                          const std::vector<std::string>& assumed,
                                          bool global_batch) {
  std::vector<model::Explanation> explanations;
  for (const int count : ranks) {
    run.ranks = count;
    explanations.push_back(model::explain(network, machine, run));
    add_notes(assumed, explanations.back().prediction);
    if (global_batch) advise_global_batches(run, explanations.back());
  }
  return report::explanation_document(explanations);
}

void add_notes(const std::vector<std::string>& notes, model::Prediction& prediction) {
  for (const std::string& note : notes) prediction.notes.push_back(model::remark(note));
}

namespace {

/// Number of iterations in a trace: enough to show the transition between two.
constexpr int iterations_shown = 3;

}  // namespace

void TraceOption::declare(CLI::App& command) {
  command
      .add_option("--trace", path, "File for a time line of three iterations, for ui.perfetto.dev")
      ->type_name("FILE");
}

void TraceOption::write(const Network& network, const model::Machine& machine, Run run,
                        const std::vector<int>& ranks) const {
  if (path.empty()) return;
  if (path == "-") {
    throw ConfigError(
        "--trace - would mix the time line with the answer on standard output. Name a file.");
  }
  refuse_shared_output(path, fmt::format("the trace {}", path));
  refuse_foreign_file(path, "a trace of dlscale", is_trace);
  std::vector<model::IterationTrace> traces;
  for (const int count : ranks) {
    run.ranks = count;
    traces.push_back(model::trace_iterations(network, machine, run, iterations_shown));
  }
  write_output(path, report::prediction_trace(traces));
}

}  // namespace dlscale::app
