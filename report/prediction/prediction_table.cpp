#include "report/prediction/prediction_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/results/trace_event.hpp"
#include "core/text/numbers.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/prediction/note_text.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {

namespace {

using model::Prediction;

/// Numbers the notes of a table. Equal notes get equal numbers, whatever their examples.
class Footnotes {
 public:
  /// The marks of a row.
  std::string mark(int ranks, const std::vector<model::Note>& notes) {
    std::vector<std::size_t> numbers;
    all_.insert(ranks);
    for (const model::Note& note : notes) {
      numbers.push_back(notes_.add(note));
      ranks_.resize(notes_.all().size());
      ranks_[numbers.back()].insert(ranks);
      ++numbers.back();
    }
    std::ranges::sort(numbers);
    return fmt::format("{}", fmt::join(numbers, ","));
  }
  /// One line for each note, with the ranks of its rows unless it applies to all rows.
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const std::string of =
          ranks_[i] == all_ ? "" : fmt::format("ranks {}: ", ranks_among(ranks_[i], all_));
      lines.push_back(fmt::format("{}: {}{}", i + 1, of, note_text(notes_.all()[i])));
    }
    return lines;
  }

 private:
  model::Notes notes_;
  std::vector<std::set<int>> ranks_;  ///< by note
  std::set<int> all_;
};

double closed_form_difference(const Prediction& prediction) {
  const Seconds total = prediction.time.total;
  return std::abs((prediction.closed_form->total - total) / total);
}

std::set<int> all_ranks(std::span<const Prediction> predictions) {
  std::set<int> all;
  for (const Prediction& prediction : predictions) all.insert(prediction.run.ranks);
  return all;
}

/// " (ranks 2 to 16)"; empty for all.
std::string in_brackets(const std::set<int>& ranks, const std::set<int>& all) {
  return ranks == all ? "" : fmt::format(" (ranks {})", ranks_among(ranks, all));
}

/// Results of the closed form: at most one line for the rows where it applies, and one for each
/// reason why it does not.
std::vector<std::string> closed_form_notes(std::span<const Prediction> predictions) {
  double largest = 0;
  const std::set<int> all = all_ranks(predictions);
  std::set<int> applies;
  std::map<std::string, std::set<int>> absent;
  for (const Prediction& prediction : predictions) {
    if (prediction.closed_form) {
      applies.insert(prediction.run.ranks);
      largest = std::max(largest, closed_form_difference(prediction));
    } else {
      absent[prediction.closed_form_absent].insert(prediction.run.ranks);
    }
  }
  std::vector<std::string> notes;
  if (!applies.empty()) {
    notes.push_back(fmt::format("closed form{}: differs from the simulation by {:.1e} at most",
                                in_brackets(applies, all), largest));
  }
  for (const auto& [reason, ranks] : absent) {
    notes.push_back(fmt::format("no closed form{}: {}", in_brackets(ranks, all), reason));
  }
  return notes;
}

/// Sources of the times, one line for all rows with the same sources.
std::vector<std::string> basis_notes(std::span<const Prediction> predictions) {
  const std::set<int> all = all_ranks(predictions);
  std::vector<std::pair<std::string, std::set<int>>> rows;
  for (const Prediction& prediction : predictions) {
    const std::string text = basis_text(prediction.sources);
    if (text.empty()) continue;
    auto known = std::ranges::find(rows, text, [](const auto& row) { return row.first; });
    if (known == rows.end()) known = rows.insert(rows.end(), {text, {}});
    known->second.insert(prediction.run.ranks);
  }
  std::vector<std::string> notes;
  for (const auto& [text, ranks] : rows) {
    notes.push_back(fmt::format("times from{}: {}", in_brackets(ranks, all), text));
  }
  return notes;
}

Table curve_table(Fields<Prediction> fields, std::span<const Prediction> predictions) {
  Footnotes footnotes;
  fields.push_back(Field<Prediction>::table(
      "notes",
      [&footnotes](const Prediction& row) { return footnotes.mark(row.run.ranks, row.notes); },
      Align::left));
  Table table = table_of(fields, predictions);
  table.shown = told_rows(predictions);
  table.title = run_title(predictions.front().run, samples_of(predictions.front()));
  table.notes = footnotes.lines();
  for (std::string& note : basis_notes(predictions)) table.notes.push_back(std::move(note));
  for (std::string& note : closed_form_notes(predictions)) table.notes.push_back(std::move(note));
  table.notes.emplace_back(
      "comm is what the backward pass does not hide; speed-up is over 1 rank with the same batch "
      "per rank");
  return table;
}

std::size_t number_of(model::TraceRow row) {
  return static_cast<std::size_t>(row);
}

void add(const model::IterationTrace& trace, std::string_view samples, int process,
         std::vector<std::string>& lines) {
  const std::string title = fmt::format("predicted: {}, {}", run_title(trace.run, samples),
                                        counted(trace.run.ranks, "rank"));
  lines.push_back(trace_name_line(process, "process_name", 0, title));
  for (const model::TraceRow row : model::all_trace_rows) {
    lines.push_back(
        trace_name_line(process, "thread_name", number_of(row), std::string(trace_row_name(row))));
  }
  for (const model::TraceSpan& span : trace.spans) {
    lines.push_back(
        trace_line({span.name, std::string(trace_row_name(span.row)), span.what, span.start,
                    span.duration, span.bytes.si(), process, number_of(span.row)}));
  }
}

}  // namespace

std::vector<std::size_t> told_of_ranks(std::span<const int> ranks, std::size_t best) {
  std::set<std::size_t> told{0, best, ranks.size() - 1};
  const int most = std::ranges::max(ranks);
  for (std::int64_t power = 1; power <= most; power *= 2) {
    std::optional<std::size_t> least;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] >= power && (!least || ranks[i] < ranks[*least])) least = i;
    }
    told.insert(*least);
  }
  return {told.begin(), told.end()};
}

std::string_view samples_of(const Prediction& prediction) {
  return prediction.tokens > 0 ? "sequences" : "images";
}

std::string run_title(const Run& run, std::string_view samples) {
  const bool images = samples == "images";
  const std::string loads =
      images ? fmt::format(" and {}", counted(run.loader_threads, "loader thread")) : "";
  return fmt::format(
      "{} on {}, {}{} per rank, {}, {}{}{}{}{}", run.network, run.cluster,
      counted(run.batch, std::string(samples.substr(0, samples.size() - 1))), loads,
      dtype_name(run.dtype), schedule_text(run),
      run.input_copy == InputCopy::ahead ? ", input copied ahead" : "",
      images && run.normalisation == Normalisation::device ? ", pictures normalised there" : "",
      run.launch == Launch::graph ? ", launched as graphs" : "",
      run.fuse_relu ? ", ReLUs fused" : "");
}

std::vector<std::size_t> told_rows(std::span<const Prediction> rows) {
  if (rows.size() <= most_on_terminal) return {};
  std::vector<int> ranks;
  for (const Prediction& row : rows) ranks.push_back(row.run.ranks);
  const auto best = std::ranges::max_element(rows, {}, &Prediction::images_per_s);
  return told_of_ranks(ranks, static_cast<std::size_t>(best - rows.begin()));
}

std::vector<Table> curve_tables(const Fields<Prediction>& fields,
                                std::span<const Prediction> predictions) {
  const auto title_of = [](const Prediction& one) { return run_title(one.run, samples_of(one)); };
  std::vector<Table> tables;
  while (!predictions.empty()) {
    const std::string title = title_of(predictions.front());
    std::size_t count = 1;
    while (count < predictions.size() && title_of(predictions[count]) == title) ++count;
    tables.push_back(curve_table(fields, predictions.first(count)));
    predictions = predictions.subspan(count);
  }
  return tables;
}

std::vector<Table> prediction_tables(std::span<const Prediction> predictions) {
  return curve_tables(prediction_fields(predictions), predictions);
}

Document prediction_document(std::span<const Prediction> predictions) {
  EXPECT(!predictions.empty());
  const std::vector<Prediction> rows(predictions.begin(), predictions.end());
  return {"", prediction_tables(predictions),
          records_of(prediction_fields(predictions), predictions),
          json_answer(
              "dlscale.prediction",
              [rows] {
                return Json{{"predictions", list_of(prediction_fields(rows), rows)}};
              },
              notes_with_kinds)};
}

std::string prediction_trace(std::span<const model::IterationTrace> traces,
                             std::string_view samples) {
  EXPECT(!traces.empty());
  std::vector<std::string> lines;
  int process = 0;
  for (const model::IterationTrace& trace : traces) add(trace, samples, process++, lines);
  return fmt::format("{}{}{}", trace_opening, fmt::join(lines, ",\n"), trace_closing);
}

}  // namespace dlscale::report
