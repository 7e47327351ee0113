#include "report/prediction/prediction_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
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
    for (const model::Note& note : notes) {
      numbers.push_back(notes_.add(note));
      ranks_.resize(notes_.all().size());
      ranks_[numbers.back()].push_back(ranks);
      ++numbers.back();
    }
    std::ranges::sort(numbers);
    return fmt::format("{}", fmt::join(numbers, ","));
  }
  /// One line for each note, with the ranks of its rows unless it applies to all `rows`.
  [[nodiscard]] std::vector<std::string> lines(std::size_t rows) const {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const std::string of =
          ranks_[i].size() == rows ? "" : fmt::format("ranks {}: ", fmt::join(ranks_[i], ", "));
      lines.push_back(fmt::format("{}: {}{}", i + 1, of, note_text(notes_.all()[i])));
    }
    return lines;
  }

 private:
  model::Notes notes_;
  std::vector<std::vector<int>> ranks_;  ///< by note
};

double closed_form_difference(const Prediction& prediction) {
  const Seconds total = prediction.time.total;
  return std::abs((prediction.closed_form->total - total) / total);
}

/// Results of the closed form: at most one line for the rows where it applies, and one for each
/// reason why it does not.
std::vector<std::string> closed_form_notes(std::span<const Prediction> predictions) {
  double largest = 0;
  std::vector<int> applies;
  std::map<std::string, std::vector<int>> absent;
  for (const Prediction& prediction : predictions) {
    if (prediction.closed_form) {
      applies.push_back(prediction.run.ranks);
      largest = std::max(largest, closed_form_difference(prediction));
    } else {
      absent[prediction.closed_form_absent].push_back(prediction.run.ranks);
    }
  }
  std::vector<std::string> notes;
  if (!applies.empty()) {
    notes.push_back(
        fmt::format("closed form (ranks {}): differs from the simulation by {:.1e} at most",
                    fmt::join(applies, ", "), largest));
  }
  for (const auto& [reason, ranks] : absent) {
    notes.push_back(fmt::format("no closed form (ranks {}): {}", fmt::join(ranks, ", "), reason));
  }
  return notes;
}

/// Sources of the times, one line for all rows with the same sources.
std::vector<std::string> basis_notes(std::span<const Prediction> predictions) {
  std::vector<std::pair<std::string, std::vector<int>>> rows;
  for (const Prediction& prediction : predictions) {
    const std::string text = basis_text(prediction.sources);
    if (text.empty()) continue;
    auto known = std::ranges::find(rows, text, [](const auto& row) { return row.first; });
    if (known == rows.end()) known = rows.insert(rows.end(), {text, {}});
    known->second.push_back(prediction.run.ranks);
  }
  std::vector<std::string> notes;
  for (const auto& [text, ranks] : rows) {
    const std::string of = ranks.size() == predictions.size()
                               ? ""
                               : fmt::format(" (ranks {})", fmt::join(ranks, ", "));
    notes.push_back(fmt::format("times from{}: {}", of, text));
  }
  return notes;
}

Table curve_table(std::span<const Prediction> predictions) {
  Footnotes footnotes;
  Fields<Prediction> fields = prediction_fields();
  fields.push_back(Field<Prediction>::table(
      "notes",
      [&footnotes](const Prediction& row) { return footnotes.mark(row.run.ranks, row.notes); },
      Align::left));
  Table table = table_of(fields, predictions);
  table.title = run_title(predictions.front().run);
  table.notes = footnotes.lines(table.rows.size());
  for (std::string& note : basis_notes(predictions)) table.notes.push_back(std::move(note));
  for (std::string& note : closed_form_notes(predictions)) table.notes.push_back(std::move(note));
  table.notes.emplace_back(
      "comm is what the backward pass does not hide; speed-up is over 1 rank with the same batch "
      "per rank");
  return table;
}

/// "–" for a time that rounds to nothing.
std::string shown_time(Seconds time, Seconds total) {
  constexpr double too_little = 5e-4;
  return time > too_little * total ? milliseconds(time) : "–";
}

std::string speedup_of(const Prediction& row) {
  return speedup_text(row.speedup, row.speedup_low, row.speedup_high);
}

/// A rate with three digits and commas: "176,000".
std::string rate_text(double rate) {
  if (rate < 1000) return significant(rate, 3);
  const double digit = std::pow(10, std::floor(std::log10(rate)) - 2);
  std::string digits = fmt::format("{:.0f}", std::round(rate / digit) * digit);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

Fields<Prediction> summary_fields(const PredictionWords& words) {
  using F = Field<Prediction>;
  const auto time = [](auto part) {
    return [part](const Prediction& row) { return shown_time(part(row.time), row.time.total); };
  };
  using Time = model::IterationTime;
  return {
      F::table(words.workers, via(&Prediction::run, &Run::ranks), as::exact),
      F::table(words.samples + "/s",
               [](const Prediction& row) { return rate_text(row.images_per_s); }),
      F::table("a " + words.workers.substr(0, words.workers.size() - 1),
               [](const Prediction& row) { return rate_text(row.images_per_s / row.run.ranks); }),
      F::table("speed-up", speedup_of),
      F::table("step ms", [](const Prediction& row) { return milliseconds(row.time.total); }),
      F::table("compute", time([](const Time& t) { return t.forward + t.backward; })),
      F::table("exposed comm", time([](const Time& t) { return t.exposed_comm; })),
      F::table("input", time([](const Time& t) { return t.io; })),
      F::table(
          "bound by", [](const Prediction& row) { return row.bound; }, Align::left),
  };
}

/// The widest interval of the rows, as a distance on a logarithmic scale: "± 17 % (90 %)".
std::string widest_interval(std::span<const Prediction> rows) {
  double widest = 0;
  for (const Prediction& row : rows) {
    if (!row.low || !row.high || *row.low <= Seconds()) return "without an interval";
    widest = std::max(widest, std::sqrt(*row.high / *row.low) - 1);
  }
  return fmt::format("± {} % (90 %)", significant(100 * widest, 2));
}

/// How gradients travel, in words.
std::string exchange_words(const Run& run) {
  if (run.synchronisation == Synchronisation::all_reduce) {
    if (run.schedule == Schedule::sequential) return "gradients sent after backward";
    if (run.schedule == Schedule::wait_free) return "gradients sent one by one during backward";
    if (run.schedule == Schedule::bucketed) return "gradients sent in buckets during backward";
  }
  return schedule_text(run);
}

/// What nobody may miss: rows that are left out, and memory that may be short.
std::vector<std::string> warnings(std::span<const Prediction> rows) {
  using model::NoteKind;
  model::Notes told;
  for (const Prediction& row : rows) {
    for (const model::Note& note : row.notes) {
      const bool left_out =
          note.kind == NoteKind::remark && note_text(note).starts_with("left out: ");
      if (left_out || note.kind == NoteKind::memory_short ||
          note.kind == NoteKind::memory_too_small) {
        told.add(note);
      }
    }
  }
  return note_texts(told.all());
}

Table summary_table(std::span<const Prediction> rows, const PredictionWords& words) {
  Table table = table_of(summary_fields(words), rows);
  const Run& run = rows.front().run;
  table.title = fmt::format(
      "{} on {}, {} {} a {}, {}, {}", run.network, run.cluster, run.batch,
      run.batch == 1 ? words.samples.substr(0, words.samples.size() - 1) : words.samples,
      words.workers.substr(0, words.workers.size() - 1), dtype_name(run.dtype),
      exchange_words(run));
  table.notes = warnings(rows);
  std::string rests = fmt::format("Rests on {}: {}.", words.rests_on, widest_interval(rows));
  if (!words.sharper.empty()) rests += "  Sharper: " + words.sharper;
  table.notes.push_back(rests);
  if (!words.next.empty()) table.notes.push_back("Next: " + words.next);
  return table;
}

std::size_t number_of(model::TraceRow row) {
  return static_cast<std::size_t>(row);
}

void add(const model::IterationTrace& trace, int process, std::vector<std::string>& lines) {
  const std::string title =
      fmt::format("predicted: {}, {}", run_title(trace.run), counted(trace.run.ranks, "rank"));
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

std::string run_title(const Run& run) {
  return fmt::format(
      "{} on {}, {} and {} per rank, {}, {}{}{}{}{}", run.network, run.cluster,
      counted(run.batch, "image"), counted(run.loader_threads, "loader thread"),
      dtype_name(run.dtype), schedule_text(run),
      run.input_copy == InputCopy::ahead ? ", input copied ahead" : "",
      run.normalisation == Normalisation::device ? ", pictures normalised there" : "",
      run.launch == Launch::graph ? ", launched as graphs" : "",
      run.fuse_relu ? ", ReLUs fused" : "");
}

std::vector<Table> prediction_tables(std::span<const Prediction> predictions) {
  std::vector<Table> tables;
  while (!predictions.empty()) {
    const std::string title = run_title(predictions.front().run);
    std::size_t count = 1;
    while (count < predictions.size() && run_title(predictions[count].run) == title) ++count;
    tables.push_back(curve_table(predictions.first(count)));
    predictions = predictions.subspan(count);
  }
  return tables;
}

Document prediction_document(std::span<const Prediction> predictions) {
  EXPECT(!predictions.empty());
  const std::vector<Prediction> rows(predictions.begin(), predictions.end());
  return {"", prediction_tables(predictions), records_of(prediction_fields(), predictions),
          json_answer(
              "dlscale.prediction",
              [rows] {
                return Json{{"predictions", list_of(prediction_fields(), rows)}};
              },
              notes_with_kinds)};
}

Document prediction_summary(std::span<const Prediction> predictions, const PredictionWords& words) {
  Document document = prediction_document(predictions);
  document.tables = {summary_table(predictions, words)};
  return document;
}

std::string prediction_trace(std::span<const model::IterationTrace> traces) {
  EXPECT(!traces.empty());
  std::vector<std::string> lines;
  int process = 0;
  for (const model::IterationTrace& trace : traces) add(trace, process++, lines);
  return fmt::format("{}{}{}", trace_opening, fmt::join(lines, ",\n"), trace_closing);
}

}  // namespace dlscale::report
