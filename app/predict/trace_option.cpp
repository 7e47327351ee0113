#include "app/predict/trace_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "core/base/error.hpp"
#include "core/results/trace_event.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/system/replaceable.hpp"
#include "model/sgd_iter/iteration_trace.hpp"
#include "report/prediction/prediction_trace.hpp"

namespace dlscale::app {
namespace {

/// Number of iterations in a trace: enough to show the transition between two.
constexpr int iterations_shown = 3;

}  // namespace

void TraceOption::declare(CLI::App& command) {
  command
      .add_option("--trace", path,
                  "File to write a time line of three predicted iterations to, for "
                  "chrome://tracing or ui.perfetto.dev")
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
