#include "report/prediction/sweep_table.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/run/run.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/prediction/note_text.hpp"
#include "report/prediction/prediction_table.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {

namespace {

using model::Prediction;

/// Differences below this are rounding errors.
constexpr double rounding = 1e-12;
/// Maximum number of notes, and of omitted combinations, shown to people.
constexpr std::size_t most_told = 10;

bool has_links(const std::vector<SweepRow>& rows) {
  return std::ranges::any_of(rows, [](const SweepRow& row) { return row.link.has_value(); });
}

std::string mark_text(SweepMark mark) {
  switch (mark) {
    case SweepMark::none:
      return "";
    case SweepMark::of_its_ranks:
      return "of its ranks";
    case SweepMark::of_all:
      return "of all";
  }
  fail_expectation("mark is a SweepMark");
}

struct MarkedRow {
  const SweepRow* row;
  SweepMark mark;
  [[nodiscard]] const Prediction& prediction() const { return row->prediction; }
  [[nodiscard]] const Run& run() const { return row->prediction.run; }
};

std::vector<MarkedRow> marked(const std::vector<SweepRow>& rows,
                              const std::vector<SweepMark>& marks) {
  std::vector<MarkedRow> all;
  for (std::size_t i = 0; i < rows.size(); ++i) all.push_back({&rows[i], marks.at(i)});
  return all;
}

/// A property of the link between nodes; empty if it was not stated.
template <class Quantity>
auto link_value(Quantity LinkSpec::*which) {
  return [which](const MarkedRow& row) {
    return row.row->link ? std::optional((*row.row->link).*which) : std::nullopt;
  };
}

template <class Quantity>
auto link_text(Quantity LinkSpec::*which) {
  return [which](const MarkedRow& row) {
    return row.row->link ? to_text((*row.row->link).*which) : "–";
  };
}

Json link_object(const MarkedRow& row) {
  if (!row.row->link) return nullptr;
  return {{"bandwidth_bytes_per_s", number(row.row->link->bandwidth.si())},
          {"latency_s", number(row.row->link->latency.si())}};
}

Json best_value(const MarkedRow& row) {
  if (row.mark == SweepMark::none) return nullptr;
  return row.mark == SweepMark::of_all ? "all" : "ranks";
}

std::vector<Prediction> predictions_of(const Sweep& sweep) {
  std::vector<Prediction> all;
  for (const SweepRow& row : sweep.rows) all.push_back(row.prediction);
  return all;
}

/// A row as a prediction, with its link and whether it is the best.
Fields<MarkedRow> program_fields(const Sweep& sweep) {
  using F = Field<MarkedRow>;
  using enum Meaning;
  const std::vector<Prediction> predictions = predictions_of(sweep);
  return joined<MarkedRow>({
      for_programs(part_of<MarkedRow>(prediction_fields(predictions), &MarkedRow::prediction)),
      {F::record("inter_node_bandwidth_bytes_per_s", key, link_value(&LinkSpec::bandwidth)),
       F::record("inter_node_latency_s", key, link_value(&LinkSpec::latency)),
       F::json("inter_node", link_object),
       F::record("best", remark, via(&MarkedRow::mark, mark_text)), F::json("best", best_value)},
  });
}

Cell best_cell(const MarkedRow& row) {
  return {mark_text(row.mark), row.mark == SweepMark::of_all ? Tone::good : Tone::plain};
}

/// The rate, its limit by data sheets where that was asked for, and the iteration.
Fields<Prediction> iteration_columns(const Prediction& first) {
  using F = Field<Prediction>;
  const Fields<Prediction> all = iteration_fields();
  Fields<Prediction> rate = picked(all, {"images_per_s"});
  rate.front().header = fmt::format("{}/s", samples_of(first));
  if (first.sheet_limit) {
    rate.push_back(F::table("sheet limit", [](const Prediction& row) {
      return row.sheet_limit ? rate_text(*row.sheet_limit) : "–";
    }));
  }
  return joined<Prediction>(
      {rate, picked(all, {"speedup"}), spared(4, picked(all, {"efficiency"})),
       picked(all, {"t_iter_s"}), spared(2, picked(all, {"t_comm_exposed_s"})),
       spared(3, Fields<Prediction>{F::table("90 % interval", predicted_interval_text)}),
       spared(1, picked(all, {"bound"}))});
}

Fields<MarkedRow> people_fields(const std::vector<SweepRow>& rows) {
  using F = Field<MarkedRow>;
  Fields<MarkedRow> fields{F::table("ranks", via(&MarkedRow::run, &Run::ranks), as::exact),
                           F::table("batch", via(&MarkedRow::run, &Run::batch), as::exact),
                           F::table("schedule", via(&MarkedRow::run, schedule_text), as::words)};
  if (has_links(rows)) {
    fields.push_back(F::table("between nodes", link_text(&LinkSpec::bandwidth)));
    fields.push_back(F::table("start-up", link_text(&LinkSpec::latency)));
    fields.back().spare = 5;
  }
  const Fields<Prediction> iteration = iteration_columns(rows.front().prediction);
  return joined<MarkedRow>({fields,
                            part_of<MarkedRow>(iteration, &MarkedRow::prediction),
                            {F::table("best", best_cell, Align::left)}});
}

/// Each note once, with the number of its rows unless it applies to all.
std::vector<std::string> sweep_notes(const std::vector<SweepRow>& rows) {
  model::Notes notes;
  std::vector<std::size_t> counts;
  for (const SweepRow& row : rows) {
    for (const model::Note& note : row.prediction.notes) {
      const std::size_t place = notes.add(note);
      counts.resize(notes.all().size());
      ++counts[place];
    }
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string of =
        counts[i] == rows.size() ? "" : fmt::format("{} of {} rows: ", counts[i], rows.size());
    lines.push_back(of + note_text(notes.all()[i]));
  }
  return lines;
}

/// The first lines, each after `word`, and the number of further ones.
void add_lines(std::string_view word, const std::vector<std::string>& lines,
               std::vector<std::string>& notes) {
  for (std::size_t i = 0; i < std::min(lines.size(), most_told); ++i) {
    notes.push_back(fmt::format("{}{}", word, lines[i]));
  }
  if (lines.size() <= most_told) return;
  notes.push_back(
      fmt::format("{}{} more (all of them in the format json)", word, lines.size() - most_told));
}

/// Rows of a large sweep that a terminal shows: the best of some numbers of ranks.
std::vector<std::size_t> shown_rows(const std::vector<SweepRow>& rows,
                                    const std::vector<SweepMark>& marks) {
  if (rows.size() <= most_on_terminal) return {};
  std::vector<std::size_t> marked;
  std::vector<int> ranks;
  std::size_t best = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (marks[i] == SweepMark::none) continue;
    if (marks[i] == SweepMark::of_all) best = marked.size();
    marked.push_back(i);
    ranks.push_back(rows[i].prediction.run.ranks);
  }
  std::vector<std::size_t> shown = told_of_ranks(ranks, best);
  for (std::size_t& row : shown) row = marked[row];
  return shown;
}

Table sweep_table(const Sweep& sweep, const std::vector<SweepMark>& marks) {
  const Run& run = sweep.rows.front().prediction.run;
  Table table = table_of(people_fields(sweep.rows), marked(sweep.rows, marks));
  table.title = fmt::format("{} on {}, {}, {} per rank", run.network, run.cluster,
                            dtype_name(run.dtype), counted(run.loader_threads, "loader thread"));
  table.shown = shown_rows(sweep.rows, marks);
  add_lines("", sweep_notes(sweep.rows), table.notes);
  add_lines("left out: ", sweep.left_out, table.notes);
  table.notes.push_back(
      "best: highest rate, of all rows or of those with as many ranks; comm is what the backward "
      "pass does not hide; speed-up is over " +
      sweep.speedup_over);
  return table;
}

/// Rows are comparable if these agree: ranks, bandwidth and latency.
auto group_of(const SweepRow& row) {
  const LinkSpec link = row.link.value_or(LinkSpec{});
  return std::tuple(row.prediction.run.ranks, link.bandwidth.si(), link.latency.si());
}

using model::Prediction;

/// The schedule, with the requested bucket size.
std::string how(const Run& run, const std::optional<Bytes>& bucket) {
  std::string text = schedule_text(run);
  if (bucket && run.schedule == Schedule::bucketed) text += fmt::format(" ({})", to_text(*bucket));
  return text;
}

std::vector<std::string> lines_of(std::span<const Prediction> rows) {
  model::Notes notes;
  for (const Prediction& row : rows) {
    for (const model::Note& note : row.notes) notes.add(note);
  }
  std::vector<std::string> lines;
  for (const model::Note& note : notes.all()) {
    const std::string sentence = note_sentence(note);
    lines.push_back(note.examples.empty()
                        ? sentence
                        : fmt::format("{}: {}", sentence, fmt::join(note_examples(note), "; ")));
  }
  return lines;
}

/// A row in all forms. Fields without effect on a row are null.
Fields<Prediction> timed_fields(const TimedPredictions& predictions) {
  using F = Field<Prediction>;
  using enum Meaning;
  const std::string messages = predictions.messages;
  const std::optional<Bytes> bucket = predictions.bucket;
  const auto bucket_of = [bucket](const Prediction& row) {
    return row.run.schedule == Schedule::bucketed ? bucket : std::nullopt;
  };
  const auto of_horovod = [](auto ScheduleSettings::*which) {
    return [which](const Prediction& row) {
      const bool packs = row.run.schedule == Schedule::horovod;
      return packs ? std::optional(row.run.settings.*which) : std::nullopt;
    };
  };
  const auto of_run = [](std::initializer_list<std::string_view> keys) {
    return part_of<Prediction>(picked(run_fields(), keys), &Prediction::run);
  };
  return joined<Prediction>({
      {F::table("ranks", via(&Prediction::run, &Run::ranks), as::exact),
       F::table(
           "schedule", [bucket](const Prediction& row) { return how(row.run, bucket); },
           as::words)},
      in_records(of_run({"network"})),
      {F::record("messages", key, [messages](const Prediction&) { return messages; })},
      of_run({"ranks", "batch", "schedule"}),
      {{"bucket_bytes", key, bucket_of},
       {"cycle_s", key, of_horovod(&ScheduleSettings::cycle)},
       {"fusion_threshold_bytes", key, of_horovod(&ScheduleSettings::fusion_threshold)}},
      of_run({"input_copy"}),
      without(iteration_fields(), {"t_load_s", "contention"}),
  });
}

Table timed_table(const TimedPredictions& predictions) {
  Table table = table_of(timed_fields(predictions), predictions.rows);
  const Run& first = predictions.rows.front().run;
  table.title = fmt::format("{} as timed on one worker, {} per rank, messages of {}", first.network,
                            counted(first.batch, "image"), predictions.messages);
  table.notes = lines_of(predictions.rows);
  table.notes.insert(table.notes.end(), predictions.notes.begin(), predictions.notes.end());
  table.notes.emplace_back(
      "comm is what the backward pass does not hide; speed-up is over 1 rank with the same layers");
  return table;
}

JsonText json_of(const TimedPredictions& predictions) {
  const std::vector<Prediction> rows(predictions.rows.begin(), predictions.rows.end());
  const Fields<Prediction> fields = timed_fields(predictions);
  return json_answer(
      "dlscale.timed_prediction",
      [rows, fields, messages = predictions.messages] {
        return Json{{"network", rows.front().run.network},
                    {"messages", messages},
                    {"rows", list_of(fields, rows)}};
      },
      notes_with_kinds);
}

}  // namespace

std::vector<SweepMark> best_rows(const std::vector<SweepRow>& rows) {
  const auto is_better = [&](std::size_t one, std::size_t other) {
    return rows[one].prediction.images_per_s > rows[other].prediction.images_per_s * (1 + rounding);
  };
  std::size_t best = 0;
  std::map<decltype(group_of(rows.front())), std::size_t> best_of_group;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_better(i, best)) best = i;
    const auto [place, is_first] = best_of_group.try_emplace(group_of(rows[i]), i);
    if (!is_first && is_better(i, place->second)) place->second = i;
  }
  std::vector<SweepMark> marks(rows.size(), SweepMark::none);
  for (const auto& [group, row] : best_of_group) marks[row] = SweepMark::of_its_ranks;
  if (!rows.empty()) marks[best] = SweepMark::of_all;
  return marks;
}

Document sweep_document(const Sweep& sweep) {
  EXPECT(!sweep.rows.empty());
  const std::vector<SweepMark> marks = best_rows(sweep.rows);
  return {"",
          {sweep_table(sweep, marks)},
          records_of(program_fields(sweep), marked(sweep.rows, marks)),
          json_answer(
              "dlscale.sweep",
              [sweep, marks] {
                return Json{{"rows", list_of(program_fields(sweep), marked(sweep.rows, marks))},
                            {"left_out", sweep.left_out},
                            {"speedup_over", sweep.speedup_over}};
              },
              notes_with_kinds)};
}

Document timed_document(const TimedPredictions& predictions) {
  EXPECT(!predictions.rows.empty());
  return {"",
          {timed_table(predictions)},
          records_of(timed_fields(predictions), predictions.rows),
          json_of(predictions)};
}

}  // namespace dlscale::report
