// dlscale history: keeps measurements of many commits and finds changes between them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/option_values.hpp"
#include "app/cli/verb.hpp"
#include "app/history/history_options.hpp"
#include "app/report/answer_kinds.hpp"
#include "core/base/error.hpp"
#include "core/system/output.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/shell_words.hpp"
#include "core/text/time_text.hpp"
#include "regression/check/check.hpp"
#include "regression/history/listing.hpp"
#include "report/history/history_table.hpp"

namespace dlscale::app {
namespace {

namespace history = regression::history;

/// The time in seconds since 1970.
std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

struct ListOptions {
  HistoryOptions history;
  std::string since;
  int last = 1;
  DocumentOutput output;
};

ExitCode list(const ListOptions& options) {
  history::Selection selection{
      options.history.wanted(), {}, static_cast<std::size_t>(options.last)};
  if (!options.since.empty()) {
    selection.since = parse_since(options.since, "--since", now());
  }
  history::Store store = options.history.open();
  report::Document document = report::history_list_document(history::list(store, selection));
  document.next = {
      {"See whether anything has become slower:", history_commands(options.history.store).check}};
  options.output.write(document);
  const history::CommitNames names = history::commit_names(store.runs());
  for (const std::string& name : names.ambiguous()) {
    fmt::print(stderr,
               "dlscale: {} is the beginning of several commits' names, so its runs may belong to "
               "another commit\n",
               name);
  }
  return ExitCode::ok;
}

void declare_list(CLI::App& verb, ExitCode& result) {
  CLI::App* command = verb.add_subcommand("list", "Show series, their latest values and levels");
  auto options = std::make_shared<ListOptions>();
  options->history.declare_store(*command);
  options->history.declare_selection(*command);
  command->add_option("--since", options->since,
                      "No commit before this time, such as 2026-01-31 or 2026-01-31T12:00:00Z, or "
                      "so long ago: 10days, 2weeks, 3months, 1year, or with a blank, quoted");
  command->add_option("--last", options->last, "How many commits of each series to show")
      ->check(positive_count())
      ->capture_default_str();
  options->output.declare(*command);
  command->footer(
      "Example: dlscale history list --name 'e2e .*t_iter' --last 10\nExit code 5: the history has "
      "no "
      "such series.");
  command->callback([options, &result] { result = list(*options); });
}

struct CheckOptions {
  HistoryOptions history;
  HistoryRules rules;
  DocumentOutput output;
};

ExitCode check_history(const CheckOptions& options) {
  history::Store store = options.history.open();
  history::CheckReport report =
      history::check(store, options.history.wanted(), options.rules.chosen());
  explain_alerts(store, report);
  report::Document document = report::history_check_document(report);
  document.next =
      steps_to_type(report::steps_of_check(report, history_commands(options.history.store)));
  if (document.next.empty()) {
    document.next.push_back(
        {"See each series over its commits on a page:",
         fmt::format("dlscale report --history {} -o page", shell_word(options.history.store))});
  }
  options.output.write(document);
  return exit_code(report);
}

void declare_history_check(CLI::App& verb, ExitCode& result) {
  CLI::App* command = verb.add_subcommand("check", "Look for regressions in a history");
  auto options = std::make_shared<CheckOptions>();
  options->history.declare_store(*command);
  options->history.declare_selection(*command);
  options->rules.declare(*command);
  options->output.declare(*command);
  command->footer(
      "Example: dlscale history check --store perf-history\nExit code 0: no new regression, 1: "
      "one that nobody has acknowledged, 3: the newest commit has to be run again, 5: the history "
      "has no "
      "such series.");
  command->callback([options, &result] { result = check_history(*options); });
}

struct AnnotateOptions {
  HistoryOptions history;
  HistoryRules rules;
  std::string commit;
  std::string state;
  std::string note;
};

/// The last annotation of a commit that left series in this state, or in any, with all series that
/// are in it now. An alert that is marked as expected is not raised again, so it is not in the
/// report.
std::optional<history::Annotation> earlier(history::Store& store, const std::string& commit,
                                           std::optional<history::AlertState> state = {}) {
  std::map<std::string, history::Annotation> last;  // by series
  std::optional<history::Annotation> found;
  for (const history::Annotation& annotation : store.annotations()) {
    if (!history::may_mean(commit, annotation.commit)) continue;
    if (!last.empty() && last.begin()->second.commit != annotation.commit) {
      throw ConfigError(fmt::format("several alerts begin with \"{}\". Write more of the commit.",
                                    escape_for_terminal(commit)));
    }
    for (const std::string& series : annotation.series) last[series] = annotation;
    if (!state || annotation.state == *state) found = annotation;
  }
  if (!found) return found;
  found->series.clear();
  for (const auto& [series, annotation] : last) {
    if (annotation.state == found->state) found->series.push_back(series);
    found->time = std::max(found->time, annotation.time);
  }
  return found;
}

/// The annotation of the alert as the history has it now.
history::Annotation as_it_stands(history::Store& store, const AnnotateOptions& options) {
  const history::CheckReport report =
      history::check(store, options.history.wanted(), options.rules.chosen());
  const bool is_raised = std::ranges::any_of(report.alerts, [&](const history::Alert& alert) {
    return history::may_mean(options.commit, alert.commit);
  });
  if (!is_raised) {
    if (const auto found = earlier(store, options.commit)) return *found;
  }
  const history::Alert& alert = history::find_alert(report, options.commit);
  history::Annotation annotation{0, alert.commit, alert.state, {}, alert.note};
  for (const history::AlertMetric& metric : alert.metrics) {
    annotation.series.push_back(metric.series);
  }
  if (const auto before = earlier(store, alert.commit, alert.state)) {
    annotation.time = before->time;
    annotation.series.insert(annotation.series.end(), before->series.begin(), before->series.end());
  }
  std::ranges::sort(annotation.series);
  const auto [first, last] = std::ranges::unique(annotation.series);
  annotation.series.erase(first, last);
  return annotation;
}

/// The annotation with the state that is asked for. Throws ConfigError for one that cannot follow.
history::Annotation changed_to(history::AlertState state, history::Annotation annotation,
                               const std::string& note) {
  if (!history::may_follow(annotation.state, state)) {
    throw ConfigError(fmt::format(
        "the alert {} is {} and cannot become {}. An alert goes from new to acknowledged, "
        "expected, and fixed or invalid; new opens it again.",
        annotation.commit, alert_state_name(annotation.state), alert_state_name(state)));
  }
  annotation.state = state;
  // The time must not decrease, even if an earlier mark came from a clock that was ahead.
  annotation.time = std::max(now(), annotation.time);
  if (!note.empty()) annotation.note = note;
  return annotation;
}

ExitCode annotate(const AnnotateOptions& options) {
  const history::AlertState state = history::parse_alert_state(options.state);
  history::Store store = options.history.open();
  history::Annotation before;
  store.annotate([&] {
    before = as_it_stands(store, options);
    return changed_to(state, before, options.note);
  });
  write_output(
      "-", fmt::format("{}: {} → {}, {} series{}\n", before.commit, alert_state_name(before.state),
                       alert_state_name(state), before.series.size(),
                       state == history::AlertState::expected
                           ? "; they are judged by the commits from there on"
                           : ""));
  return ExitCode::ok;
}

void declare_annotate(CLI::App& verb, ExitCode& result) {
  CLI::App* command = verb.add_subcommand("annotate", "Say what has become of an alert");
  auto options = std::make_shared<AnnotateOptions>();
  options->history.declare_store(*command);
  options->rules.declare(*command);
  command->add_option("commit", options->commit, "The alert, or the beginning of its commit")
      ->required();
  command
      ->add_option("--state", options->state,
                   "acknowledged, expected (judge by what comes after it), fixed, invalid, or new "
                   "to open it again")
      ->type_name("{acknowledged,expected,fixed,invalid,new}")
      ->required();
  command->add_option("--note", options->note, "Why, or the number of a bug");
  command->footer("Example: dlscale history annotate 1a2b3c4 --state expected --note \"f64 sums\"");
  command->callback([options, &result] { result = annotate(*options); });
}

void declare_history(CLI::App& verb, ExitCode& result) {
  verb.require_subcommand(1);
  declare_history_add(verb, result);
  declare_list(verb, result);
  declare_history_check(verb, result);
  declare_annotate(verb, result);
  declare_history_bisect(verb, result);
  verb.footer("Example: dlscale history add results --store perf-history");
}

}  // namespace

extern const Verb history_verb{"history", "Keep measurements of commits and find what changed",
                               declare_history};

}  // namespace dlscale::app
