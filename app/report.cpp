// dlscale report: writes a page on speed, bounds and prediction errors. For results without
// training runs it shows the fastest convolutions, the limits of the processor and the times of
// messages.
#include "report/sections/report.hpp"
#include "app/measure/result_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/help_text.hpp"
#include "app/cli/option_values.hpp"
#include "app/cli/rank0_error.hpp"
#include "app/cli/verb.hpp"
#include "app/history/history_options.hpp"
#include "app/history/report_sources.hpp"
#include "app/options/hardware_options.hpp"
#include "app/report/answer_kinds.hpp"
#include "app/report/measured_steps.hpp"
#include "app/report/next_steps.hpp"
#include "core/config/config_path.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/system/process.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "model/machine/machine.hpp"
#include "regression/gate/gate_report.hpp"
#include "report/comparison/side_by_side.hpp"
#include "report/figure/figures.hpp"
#include "report/format/format.hpp"
#include "report/history/history_table.hpp"
#include "report/history/history_view.hpp"
#include "report/sections/gate_sections.hpp"
#include "report/sections/history_section.hpp"
#include "report/sections/sections.hpp"
#include "report/sections/summary.hpp"
#include "report/validation/speedup_curves.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  std::vector<std::string> results;
  std::string machine;
  std::string out = "report";
  std::vector<int> ranks{1, 2, 4, 8, 16, 32, 64};
  report::Limits limits;
  InterNodeOptions inter_node;
  bool side_by_side = false;
  HistoryOptions history{"", "", ""};  ///< empty store: no history
  HistoryRules rules;
  std::string format = "table";  ///< format of the printed answer
  bool quiet = false;
  FurtherForms further;
  std::string picture;  ///< file of the slide; empty: none
};

bool is_machine_name(const fs::path& file) {
  return file.filename() == "machine.json" || file.filename() == "machine.json.gz";
}

/// The machine files below folders of results.
std::set<fs::path> machine_files_below(const std::vector<std::string>& paths) {
  std::set<fs::path> files;
  for (const std::string& path : paths) {
    std::error_code error;  // an unreadable folder has none
    fs::recursive_directory_iterator entry(path, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (is_machine_name(entry->path())) files.insert(entry->path());
    }
  }
  return files;
}

/// The named machine file, or the one in a folder of results, or the only one below them; nothing
/// if there is none, or several.
std::optional<fs::path> machine_file(const ReportOptions& options) {
  if (!options.machine.empty()) return options.machine;
  for (const std::string& path : options.results) {
    for (const char* name : {"machine.json", "machine.json.gz"}) {
      std::error_code error;  // an unreadable folder has none
      if (fs::exists(fs::path(path) / name, error)) return fs::path(path) / name;
    }
  }
  const std::set<fs::path> below = machine_files_below(options.results);
  return below.size() == 1 ? std::optional(*below.begin()) : std::nullopt;
}

ConfigError nothing_found(const std::vector<std::string>& paths) {
  std::vector<std::string> shown;
  for (const std::string& path : paths) shown.push_back(escape_for_terminal(path));
  return ConfigError(fmt::format(
      "{} {} no results (*.jsonl or *.jsonl.gz), so there is nothing to report on. Name another "
      "folder, or measure first: dlscale bench conv --suite quick -o FOLDER.",
      fmt::join(shown, " and "), paths.size() == 1 ? "holds" : "hold"));
}

ConfigError no_machine(const report::ReportInput& input) {
  if (report::has_benchmark(input.results, {"e2e"})) {
    return ConfigError(
        "No machine.json is beside the results. Name the file of dlscale calibrate with "
        "--machine.");
  }
  return ConfigError(
      "No machine.json is beside the results, and they hold nothing that a page shows without one: "
      "convolutions by algorithm, caches, memory, arithmetic, or messages of training. "
      "Name the file of dlscale calibrate with --machine, or more results.");
}

bool is_page(std::istream& content) {
  std::string start(2048, ' ');
  content.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(content.gcount()));
  return report::is_page_text(start);
}

/// Figures do not record their author; they belong to a report if its page lies beside them.
void refuse_foreign_figures(const fs::path& folder) {
  for (const char* page : {"index.html", "README.md"}) {
    if (fs::exists(folder / page)) return;
  }
  for (const std::string& figure : report::figure_files()) {
    refuse_foreign_file(folder / figure, "a figure of dlscale report (no page lies beside it)",
                        [](std::istream&) { return false; });
  }
}

/// Refuses a folder of the user's own, which may have a README.md.
void refuse_foreign_pages(const fs::path& folder) {
  for (const char* page : {"index.html", "README.md"}) {
    refuse_foreign_file(folder / page, "a page of dlscale report", is_page);
  }
}

void add_training(report::ReportInput& input, const ReportOptions& options) {
  const std::optional<fs::path> machine = machine_file(options);
  if (!machine) throw no_machine(input);
  input.machine = model::load_machine(*machine);
  options.inter_node.apply(input.machine.cluster);
  input.limits = options.limits;
  input.validation =
      report::validate(input.machine, results_of(measured_paths(options.results), {"e2e"}));
  report::SpeedupCurves curves =
      report::speedup_curves(input.validation, input.machine, options.ranks);
  input.curves = std::move(curves.curves);
  input.left_out = std::move(curves.left_out);
}

/// Whether the results are from one machine, so that one table can compare algorithms and one
/// roofline holds. A report of training runs has other contents and only leaves that table out.
bool are_of_one_machine(report::ReportInput& input) {
  if (input.results.empty()) return true;
  try {
    static_cast<void>(report::processor_of(input.results));
    return true;
  } catch (const ConfigError& error) {
    if (!input.trained && input.suites.empty() && !input.history) throw;
    input.left_out.push_back("convolutions by algorithm: " + sentence_of(error));
    return false;
  }
}

/// Whether a page without training predictions has contents. Memory bandwidths belong to a machine
/// file if there is one.
bool are_of_parts(const report::ReportInput& input, const ReportOptions& options) {
  return report::tells_of_parts(input.results) ||
         (report::has_benchmark(input.results, {"memory"}) && !machine_file(options));
}

/// The history of the results or, without results, the whole history.
std::shared_ptr<report::HistoryView> look_at_history(const ReportOptions& options,
                                                     const std::vector<ResultFile>& results) {
  if (options.history.store.empty()) return nullptr;
  regression::history::Store store = options.history.open();
  auto view = std::make_shared<report::HistoryView>(report::look_at_history(
      store, history_commands(options.history.store), options.history.wanted(),
      options.rules.chosen(), report::reported_values(results)));
  explain_alerts(store, view->report);
  return view;
}

/// A suite's cells, a history and a study of noise alone have a page even without predictions.
bool tells_elsewhere(const report::ReportInput& input, const ReportOptions& options) {
  const bool noise_alone = input.results.empty() && !input.noise.empty();
  return (!input.suites.empty() || input.history || noise_alone) && !machine_file(options);
}

/// Reads the inputs of a page. Without training runs it covers convolutions, the processor and
/// messages; with them, messages are part of the machine that predicts.
report::ReportInput gather_input(const ReportOptions& options) {
  report::ReportInput input;
  input.results = all_results(measured_paths(options.results));
  input.suites = read_suites(options.results);
  input.noise = read_noise(options.results);
  input.history = look_at_history(options, input.results);
  const bool found_other = !input.suites.empty() || !input.noise.empty() || input.history;
  if (input.results.empty() && !found_other) throw nothing_found(options.results);
  input.trained = !tells_elsewhere(input, options) &&
                  (report::has_benchmark(input.results, {"e2e"}) || !are_of_parts(input, options));
  if (input.trained) add_training(input, options);
  if (are_of_one_machine(input) && report::compares_algorithms(input.results)) {
    input.kernels = std::make_shared<report::KernelStudy>(input.results, sentence_of);
  }
  return input;
}

bool is_page_file(const fs::path& path) {
  std::ifstream content(path);
  return is_page(content);
}

/// Removes pages of an earlier report that this one lacks, in a folder of it ("" for its own).
void remove_old_pages(const fs::path& folder, const char* below,
                      const std::vector<report::TextFile>& pages) {
  if (!fs::is_directory(folder / below)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / below)) {
    const auto is_it = [&entry, &folder](const report::TextFile& page) {
      return folder / page.file == entry.path();
    };
    const std::string extension = entry.path().extension();
    const bool named = *below != '\0' || entry.path().filename().string().starts_with("rows");
    const bool ours =
        named && (extension == ".md" || extension == ".html") && is_page_file(entry.path());
    if (ours && std::ranges::none_of(pages, is_it)) fs::remove(entry.path());
  }
}

void write_pages(const fs::path& folder, const std::vector<report::TextFile>& pages) {
  for (const report::TextFile& page : pages) {
    refuse_foreign_file(folder / page.file, "a page of dlscale report", is_page);
  }
  for (const char* below : {"", "layers", "messages"}) remove_old_pages(folder, below, pages);
  for (const report::TextFile& page : pages) write_output((folder / page.file).string(), page.text);
}

/// Runs plots/slide.py, which draws the first screen of a page for a slide. Throws ConfigError that
/// says what is missing.
void run_slide(const std::vector<std::string>& words) {
  const fs::path script = (config_root() / "../plots/slide.py").lexically_normal();
  std::error_code error;  // an unreadable folder has none
  if (!fs::is_regular_file(script, error)) {
    throw ConfigError(
        fmt::format("--picture needs {}, which is not there. Unset DLSCALE_CONFIGS, or install "
                    "dlscale again with its folder plots.",
                    script.string()));
  }
  std::vector<std::string> command{"python3", script.string()};
  command.insert(command.end(), words.begin(), words.end());
  ProgramOutput drawn = run_program(command);
  if (drawn.code == ProgramOutput::not_started) {
    throw ConfigError(
        fmt::format("--picture needs python3, which cannot be started ({}). Install it: apt "
                    "install python3-matplotlib.",
                    drawn.errors));
  }
  while (drawn.errors.ends_with('\n')) drawn.errors.pop_back();
  if (drawn.code != 0) throw ConfigError("--picture: " + drawn.errors);
}

/// Refuses what cannot be drawn before an earlier page is overwritten.
void check_picture(const std::string& picture) {
  if (picture.empty()) return;
  const std::string ending = fs::path(picture).extension();
  if (ending != ".png" && ending != ".svg" && ending != ".pdf") {
    throw ConfigError(
        fmt::format("--picture {} is not the name of a PNG, SVG or PDF. Write one that ends in "
                    ".png, .svg or .pdf.",
                    escape_for_terminal(picture)));
  }
  std::error_code error;  // an unreadable folder does not exist
  fs::path folder = fs::absolute(picture).parent_path();
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, error)) {
    throw ConfigError(fmt::format("--picture {} cannot be written, as {} is not a folder. Name a "
                                  "file in a folder.",
                                  escape_for_terminal(picture),
                                  escape_for_terminal(folder.string())));
  }
  run_slide({"--help"});  // fails without matplotlib
}

/// Prints the answer, where the page and its picture are, and what to do next.
void print_answer(const ReportOptions& options, const report::Page& page,
                  const report::Document& document) {
  const auto& format = report::format::find_format(options.format);
  const auto print = [&](const report::Document& part) {
    write_output("-", format.write(part, terminal_of_output("auto")));
  };
  print(document);
  options.further.write(document);
  const bool is_read = options.format == "table";
  std::FILE* const to = is_read ? stdout : stderr;
  const fs::path folder = fs::absolute(options.out).lexically_normal();
  if (is_read) fmt::print(to, "\n");
  fmt::print(to, "report: {}\n", (folder / "index.html").string());
  const auto picture = std::ranges::find(page.figures, page.picture, &report::Figure::name);
  if (picture != page.figures.end()) {
    fmt::print(to, "picture: {}\n", (folder / picture->file).string());
  }
  if (!options.picture.empty()) {
    fmt::print(to, "slide: {}\n", fs::absolute(options.picture).lexically_normal().string());
  }
  report::Document last;
  last.next = steps_to_type(page.next);
  if (!is_read || options.quiet || last.next.empty()) return;
  fmt::print(to, "\n");
  print(last);
}

/// Writes a page as HTML, as Markdown and its figures, and prints the answer.
ExitCode write_answer(const ReportOptions& options, const report::Page& page,
                      const report::Document& document) {
  const fs::path out(options.out);
  for (const report::Figure& figure : page.figures) {
    write_output((out / figure.file).string(), figure.svg);
  }
  std::vector<report::TextFile> pages = report::html_files(page);
  std::ranges::move(report::markdown(page), std::back_inserter(pages));
  write_pages(out, pages);
  if (!options.picture.empty()) {
    run_slide({fs::absolute(out / "index.html").string(), "--output=" + options.picture});
  }
  print_answer(options, page, document);
  return ExitCode::ok;
}

ExitCode write_gate_report(const ReportOptions& options) {
  if (options.results.size() > 1) {
    throw ConfigError(
        "a gate's result was named beside other files, and a page tells of one gate. Name it "
        "alone.");
  }
  const regression::GateReport gate =
      regression::read_gate_report(gate_file(options.results.front()));
  report::Page page = report::gate_page(gate);
  page.next = steps_of_gate(gate, options.results.front());
  return write_answer(options, page, report::gate_document(gate));
}

/// Writes the page of one answer in JSON.
ExitCode write_answer_page(const ReportOptions& options, const AnswerKind& kind) {
  const std::string& file = options.results.front();
  const std::string text = read_input(file, "Check the path.");
  const report::AnswerPage made = answer_page(kind, text, file);
  return write_answer(options, made.page, made.document);
}

/// Writes a report of a history without results.
ExitCode write_history(const ReportOptions& options) {
  const std::shared_ptr<report::HistoryView> view = look_at_history(options, {});
  return write_answer(options, report::history_page(*view),
                      report::history_check_document(view->report));
}

/// Refuses a history for pages with a single subject.
void refuse_history(const ReportOptions& options, const char* what) {
  if (options.history.store.empty()) return;
  throw ConfigError(fmt::format(
      "--history says what was measured before of results, and {} has no place for it. Leave "
      "--history out, or make a page of the history alone (dlscale report --history {}).",
      what, options.history.store));
}

ExitCode write_side_by_side(const ReportOptions& options) {
  report::ReportInput input;
  input.results = all_results(measured_paths(options.results));
  input.side_by_side = report::side_by_side(read_sources(options.results));
  if (input.results.empty() && input.side_by_side.columns.empty()) {
    throw nothing_found(options.results);
  }
  if (input.side_by_side.rows.empty()) {
    throw Error(ExitCode::nothing_measured,
                "nothing was measured in two of the places named at the same question (network, "
                "batch, dtype and ranks of a training; all axes of a kernel), so there is nothing "
                "side by side. Name other results.");
  }
  report::Page page = report::side_by_side_page(input);
  page.next = steps_of_side_by_side(options.results);
  return write_answer(options, page, report::side_by_side_document(input.side_by_side));
}

ExitCode write_report(const ReportOptions& options) {
  const fs::path out(options.out);
  refuse_repeated("--ranks", options.ranks);
  static_cast<void>(report::format::find_format(options.format));  // before the work
  options.further.check();
  check_picture(options.picture);
  refuse_foreign_pages(out);
  refuse_foreign_figures(out);
  if (options.results.empty()) {
    if (!options.history.store.empty()) return write_history(options);
    throw ConfigError(
        "nothing to report on was named. Name result files and folders, the result of a gate, or a "
        "history with --history.");
  }
  refuse_history_folders(options.results);
  if (!std::ranges::all_of(options.results, &std::string::empty, gate_file)) {
    refuse_history(options, "the page of a gate");
    return write_gate_report(options);
  }
  if (options.results.size() == 1) {
    if (const AnswerKind* kind = answer_kind(options.results.front())) {
      refuse_history(options, "the page of an answer");
      return write_answer_page(options, *kind);
    }
  }
  if (options.side_by_side) {
    refuse_history(options, "a page of medians side by side");
    return write_side_by_side(options);
  }
  report::ReportInput input = gather_input(options);
  add_side_by_side(input, options.results);
  for (const std::string& sentence : input.left_out) {
    fmt::print(stderr, "report: {}\n", sentence);
  }
  report::Page page = report::report_page(input);
  const fs::path machine = machine_file(options).value_or("machine.json");
  page.next = page.kind == "noise" ? steps_of_noise()
                                   : steps_of_results(input, machine.string(), options.results);
  return write_answer(
      options, page,
      input.trained ? report::summary_document(input) : report::parts_document(input));
}

void declare_report(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<ReportOptions>();
  verb.add_option(
          "results", options->results,
          "Result files and folders of benchmarks and suites, a gate's folder or result, or "
          "an answer in JSON (of predict, plan or compare); none with --history: a page of the "
          "whole history")
      ->type_name("FILE");
  CLI::Option* history =
      verb.add_option("--history", options->history.store,
                      "Folder of dlscale history: adds earlier values, changes of level and alerts")
          ->type_name("FOLDER");
  options->history.declare_selection(verb);
  options->rules.declare(verb);
  for (const char* name : {"--name", "--exclude", "--margin"}) {
    verb.get_option(name)->needs(history)->group("History");
  }
  verb.add_option("--machine", options->machine,
                  "Machine file (default: machine.json in a folder of results)")
      ->type_name("FILE");
  verb.add_option("-o,--output", options->out,
                  "Folder for index.html, README.md, its pages by layer and figures")
      ->type_name("FOLDER")
      ->capture_default_str();
  verb.add_option("--ranks", options->ranks, "Numbers of workers of the speed-up curve")
      ->delimiter(',')
      ->check(positive_count())
      ->capture_default_str();
  verb.add_flag("--side-by-side", options->side_by_side,
                "Page of medians side by side, with a column for each folder, backend and "
                "setting; predictions (JSON of predict) are allowed");
  declare_format(verb, options->format);
  declare_quiet(verb, options->quiet);
  options->further.declare(verb);
  verb.add_option("--picture", options->picture,
                  "Picture of the page for a slide: PNG, SVG or PDF by its ending")
      ->type_name("FILE");
  options->inter_node.declare(verb);
  group_options(verb, {{"Contents", {"--machine", "--ranks", "--side-by-side", "--history"}},
                       {"Output", {"--output", "--format", "--write", "--picture", "--quiet"}},
                       {"Advanced", {"--inter-node-bandwidth", "--inter-node-latency"}}});
  verb.footer(
      "Example: dlscale report results/A results/B --side-by-side --picture summary.png -o page\n"
      "dlscale report gate.json --format comment -o page\n"
      "dlscale report results/nightly --history perf-history -o page\n"
      "dlscale report results/local/quickstart -o results/local/quickstart/report");
  verb.callback([options, &result] { result = write_report(*options); });
}

}  // namespace

extern const Verb report_verb{
    "report", "Write one page (HTML and Markdown) about predictions and runs", declare_report};

}  // namespace dlscale::app
