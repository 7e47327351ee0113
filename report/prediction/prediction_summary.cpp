#include "report/prediction/prediction_summary.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/prediction/note_text.hpp"
#include "report/prediction/prediction_table.hpp"
#include "report/table/field_table.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

using model::NoteKind;
using model::Prediction;

using Rows = std::span<const Prediction>;

/// "–" for a time that rounds to nothing.
std::string shown_time(Seconds time, Seconds total) {
  constexpr double too_little = 5e-4;
  return time > too_little * total ? milliseconds(time) : "–";
}

std::string speedup_of(const Prediction& row) {
  return speedup_text(row.speedup, row.speedup_low, row.speedup_high);
}

std::string singular(std::string_view word) {
  return std::string(word.substr(0, word.size() - 1));
}

/// A column of a part of the iteration.
template <class Part>
Field<Prediction> part_field(const char* heading, Part part) {
  return Field<Prediction>::table(heading, [part](const Prediction& row) {
    return shown_time(part(row.time), row.time.total);
  });
}

Fields<Prediction> rate_fields(Rows rows, const PredictionWords& words) {
  using F = Field<Prediction>;
  Fields<Prediction> fields{
      F::table(words.workers, via(&Prediction::run, &Run::ranks), as::exact),
      F::table(fmt::format("{}/s", samples_of(rows.front())),
               [](const Prediction& row) { return rate_text(row.images_per_s); })};
  if (rows.front().tokens > 0) {
    fields.push_back(F::table("tokens/s", [](const Prediction& row) {
      return rate_text(row.tokens * row.images_per_s);
    }));
  }
  F each = F::table("a " + singular(words.workers), [](const Prediction& row) {
    return rate_text(row.images_per_s / row.run.ranks);
  });
  each.spare = 3;
  fields.push_back(std::move(each));
  if (rows.front().sheet_limit) {
    fields.push_back(F::table("sheet limit", [](const Prediction& row) {
      return row.sheet_limit ? rate_text(*row.sheet_limit) : "–";
    }));
  }
  return fields;
}

Fields<Prediction> summary_fields(Rows rows, const PredictionWords& words) {
  using F = Field<Prediction>;
  using Time = model::IterationTime;
  Fields<Prediction> parts{
      F::table("speed-up", speedup_of),
      F::table("step ms", [](const Prediction& row) { return milliseconds(row.time.total); }),
      part_field("compute", [](const Time& t) { return t.forward + t.backward + t.update; }),
      part_field("exposed comm", [](const Time& t) { return t.exposed_comm; }),
      part_field("input", [](const Time& t) { return t.io + t.h2d; }),
      F::table(
          "bound by", [](const Prediction& row) { return row.bound; }, Align::left)};
  parts[4].spare = 2;
  return joined<Prediction>({rate_fields(rows, words), parts});
}

/// The interval of a row's rate, as changes: −0.23 and 0.65.
std::optional<std::pair<double, double>> rate_interval(const Prediction& row) {
  if (!row.low || !row.high || *row.low <= Seconds()) return std::nullopt;
  return std::pair(row.time.total / *row.high - 1, row.time.total / *row.low - 1);
}

double width(const std::pair<double, double>& interval) {
  return std::log1p(interval.second) - std::log1p(interval.first);
}

/// "−23/+65 % of images/s (90 %)", of the row with the widest interval, which it names if others
/// are narrower by a tenth.
std::string widest_interval(Rows rows, const PredictionWords& words) {
  const Prediction* widest = nullptr;
  double most = 0;
  double least = 0;
  for (const Prediction& row : rows) {
    const auto interval = rate_interval(row);
    if (!interval) return "without an interval";
    const double its = width(*interval);
    least = widest == nullptr ? its : std::min(least, its);
    if (widest != nullptr && its <= most) continue;
    widest = &row;
    most = its;
  }
  const auto [low, high] = *rate_interval(*widest);
  const std::string_view workers = words.workers;
  const std::string_view one = workers.substr(0, workers.size() - 1);
  const int ranks = widest->run.ranks;
  const std::string where =
      least < 0.9 * most ? fmt::format(", widest at {} {}", ranks, ranks == 1 ? one : workers) : "";
  const auto percent = [](double share) {
    constexpr double unseen = 5e-4;
    return share < unseen ? "0" : significant(100 * share, 2);
  };
  return fmt::format("−{}/+{} % of {}/s (90 %{})", percent(-low), percent(high),
                     samples_of(*widest), where);
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

/// Notes that belong below the short table, too: rows that are left out, more nodes than the
/// cluster has. The answer's first sentence says where memory may be short.
std::vector<std::string> warnings(Rows rows) {
  model::Notes found;
  for (const Prediction& row : rows) {
    for (const model::Note& note : row.notes) {
      const bool left_out =
          note.kind == NoteKind::remark && note_text(note).starts_with("left out: ");
      if (left_out || note.kind == NoteKind::measured_points || note.kind == NoteKind::more_nodes) {
        found.add(note);
      }
    }
  }
  return note_texts(found.all());
}

std::vector<std::string> split(std::string_view clauses) {
  constexpr std::string_view between = "; ";
  std::vector<std::string> all;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = clauses.find(between);
    all.emplace_back(clauses.substr(0, end));
    if (end != std::string_view::npos) clauses.remove_prefix(end + between.size());
  }
  return all;
}

/// The clauses of notes on what no published training was like.
std::vector<std::string> unlike_fitted(Rows rows) {
  std::vector<std::string> clauses;
  for (const Prediction& row : rows) {
    for (const model::Note& note : row.notes) {
      if (note.kind != NoteKind::beyond_fitted && note.kind != NoteKind::scaling_outside &&
          note.kind != NoteKind::other_evidence) {
        continue;
      }
      for (std::string& clause : split(std::get<std::string>(note.values.front().value))) {
        if (std::ranges::find(clauses, clause) != clauses.end()) continue;
        clauses.push_back(std::move(clause));
      }
    }
  }
  return clauses;
}

/// One line of them: as many as two lines of a terminal hold, and the number of others.
std::string unlike_line(const std::vector<std::string>& clauses) {
  constexpr std::size_t most = 170;
  std::string line = "Unlike anything fitted: " + clauses.front();
  std::size_t shown = 1;
  for (; shown < clauses.size(); ++shown) {
    if (line.size() + clauses[shown].size() > most) break;
    line += "; " + clauses[shown];
  }
  const std::size_t others = clauses.size() - shown;
  return others == 0 ? line + "." : fmt::format("{}; and {} more.", line, others);
}

Table summary_table(Rows rows, const PredictionWords& words) {
  Table table = table_of(summary_fields(rows, words), rows);
  table.shown = told_rows(rows);
  const Prediction& first = rows.front();
  const Run& run = first.run;
  const std::string_view samples = samples_of(first);
  table.title = fmt::format("{} on {}, {} {} a {}, {}, {}", run.network, run.cluster, run.batch,
                            run.batch == 1 ? singular(samples) : samples, singular(words.workers),
                            dtype_name(run.dtype), exchange_words(run));
  if (first.sheet_limit) {
    table.notes.push_back(
        fmt::format("sheet limit: {}/s at full peak, full bandwidths and line rate of the data "
                    "sheets, by direct convolutions",
                    samples));
  }
  for (std::string& warning : warnings(rows)) table.notes.push_back(std::move(warning));
  if (const auto clauses = unlike_fitted(rows); !clauses.empty()) {
    table.notes.push_back(unlike_line(clauses));
  }
  table.notes.push_back(
      fmt::format("Rests on {}: {}.", words.rests_on, widest_interval(rows, words)));
  return table;
}

/// The phases of iterations in ms, with their interval.
Fields<Prediction> phase_fields() {
  Fields<Prediction> phases = picked(iteration_fields(), {"t_io_s", "t_h2d_s", "t_f_s", "t_b_s",
                                                          "t_comm_exposed_s", "t_u_s", "t_iter_s"});
  for (Field<Prediction>& phase : phases) {
    phase.header = phase.header.substr(0, phase.header.rfind(" ms"));
  }
  using F = Field<Prediction>;
  return joined<Prediction>({{F::table("ranks", via(&Prediction::run, &Run::ranks), as::exact)},
                             phases,
                             {F::table("90 % interval", predicted_interval_text)}});
}

/// The speed-up over the numbers of ranks. Rows differ in nothing else.
Curve speedup_curve(Rows rows, const PredictionWords& words) {
  Curve curve{"speed-up over " + words.workers, {}};
  for (const Prediction& row : rows) {
    const double ranks = row.run.ranks;
    curve.points.push_back({ranks, row.speedup, ranks});
  }
  std::ranges::stable_sort(curve.points, {}, &Curve::Point::x);
  return curve;
}

Document with_tables(Rows predictions, std::vector<Table> tables) {
  Document document = prediction_document(predictions);
  document.tables = std::move(tables);
  return document;
}

}  // namespace

Document prediction_summary(Rows predictions, const PredictionWords& words) {
  EXPECT(!predictions.empty());
  Table table = summary_table(predictions, words);
  table.notes.insert(table.notes.begin(), words.hints.begin(), words.hints.end());
  table.notes.push_back(words.more);
  Document document = with_tables(predictions, {std::move(table)});
  document.curve = speedup_curve(predictions, words);
  return document;
}

Document prediction_details(Rows predictions, const PredictionWords& words) {
  EXPECT(!predictions.empty());
  std::vector<Table> tables{summary_table(predictions, words)};
  for (Table& phases : curve_tables(phase_fields(), predictions)) {
    phases.title = "Phases in ms: " + phases.title;
    tables.push_back(std::move(phases));
  }
  return with_tables(predictions, std::move(tables));
}

}  // namespace dlscale::report
