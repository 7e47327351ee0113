#include "report/prediction/memory_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

using model::MemoryNeed;

/// Whether a training fits: "yes" even with the most that is usual, "likely" by the sum, "maybe" if
/// outputs are computed again, or "no". "unknown" without a stated memory.
std::string fits_word(const MemoryRow& row) {
  if (row.memory <= Bytes()) return "unknown";
  if (row.need.most() <= row.memory) return "yes";
  if (row.need.total() <= row.memory) return "likely";
  return row.need.least() <= row.memory ? "maybe" : "no";
}

Cell fits_cell(const MemoryRow& row) {
  const std::string word = fits_word(row);
  if (word == "yes") return {word, Tone::good};
  if (word == "no") return {word, Tone::bad};
  return {word, word == "maybe" ? Tone::caution : Tone::plain};
}

std::string size_in_gb(Bytes size) {
  constexpr double least_shown = 1e6;
  return size.si() < least_shown ? "0" : fmt::format("{:.3g}", size.si() / 1e9);
}

/// A part of the need, in bytes for programs and in GB for people.
template <class Part>
Field<MemoryRow> memory_part(std::string key, Part part, std::string header) {
  const auto size = [part](const MemoryRow& row) { return Bytes(std::invoke(part, row.need)); };
  return {std::move(key), Meaning::value, size, std::move(header),
          [size](const MemoryRow& row) { return size_in_gb(size(row)); }};
}

/// The numbers of ranks, where these share memory in different ways.
Fields<MemoryRow> rank_fields(std::span<const MemoryRow> rows) {
  using F = Field<MemoryRow>;
  const auto alike = [&](const MemoryRow& row) { return row.memory == rows.front().memory; };
  if (std::ranges::all_of(rows, alike)) return {};
  const auto on_node = [](const MemoryRow& row) {
    return std::min(row.run.ranks, row.run.ranks_per_node);
  };
  return {F("ranks_on_node", Meaning::key, on_node, "ranks", as::exact)};
}

Fields<MemoryRow> memory_fields(std::span<const MemoryRow> rows) {
  using enum Meaning;
  const auto range = [](const MemoryRow& row) {
    return fmt::format("{} … {}", size_in_gb(row.need.least()), size_in_gb(row.need.most()));
  };
  const auto held = [](const MemoryRow& row) {
    return row.memory > Bytes() ? size_in_gb(row.memory) : "–";
  };
  Field<MemoryRow> verdict{"fits", state, fits_word, "fits", fits_cell, Align::left};
  Field<MemoryRow> next_batch = memory_part("next_batch_bytes", &MemoryNeed::batch, "input");
  next_batch.spare = 2;
  Field<MemoryRow> libraries = memory_part(
      "libraries_bytes", [](const MemoryNeed& need) { return need.libraries.bytes; }, "libraries");
  libraries.spare = 1;
  verdict.states = {"yes", "likely", "maybe", "no", "unknown"};
  return joined<MemoryRow>({
      part_of<MemoryRow>(
          for_programs(picked(run_fields(), {"network", "cluster", "batch", "dtype"})),
          &MemoryRow::run),
      rank_fields(rows),
      {Field<MemoryRow>::table("batch", via(&MemoryRow::run, &Run::batch), as::exact),
       memory_part("parameters_bytes", &MemoryNeed::parameters, "parameters"),
       memory_part("states_bytes", &MemoryNeed::states, "states"),
       memory_part("activations_bytes", &MemoryNeed::activations, "outputs"),
       memory_part("backward_bytes", &MemoryNeed::gradients, "backward"),
       next_batch,
       libraries,
       memory_part("total_bytes", &MemoryNeed::total, "total GB"),
       {"least_bytes", value, via(&MemoryRow::need, &MemoryNeed::least)},
       {"most_bytes", value, via(&MemoryRow::need, &MemoryNeed::most)},
       Field<MemoryRow>::json("least_states_bytes",
                              via(&MemoryRow::need, &MemoryNeed::least_states)),
       Field<MemoryRow>::table("interval", range),
       {"memory_bytes", value, &MemoryRow::memory, "device", held},
       verdict},
  });
}

}  // namespace

Document memory_document(std::span<const MemoryRow> rows, std::span<const std::string> notes,
                         std::optional<int> largest_batch) {
  EXPECT(!rows.empty());
  const std::vector<MemoryRow> all(rows.begin(), rows.end());
  const Run& run = all.front().run;
  Table table = table_of(memory_fields(all), all);
  table.title = fmt::format("Memory of a rank: {} on {}, {}", run.network, run.cluster,
                            dtype_name(run.dtype));
  table.notes.assign(notes.begin(), notes.end());
  Document document;
  document.tables = {std::move(table)};
  document.records = records_of(memory_fields(all), all);
  document.json = json_answer("dlscale.memory", [all, largest_batch] {
    return Json{{"trainings", list_of(memory_fields(all), all)},
                {"largest_batch", largest_batch ? Json(*largest_batch) : Json(nullptr)}};
  });
  return document;
}

}  // namespace dlscale::report
