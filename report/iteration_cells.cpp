#include "report/iteration_cells.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>

#include "core/units.hpp"
#include "model/sgd_iter/notes.hpp"
#include "report/numbers.hpp"
#include "report/record_columns.hpp"

namespace dlscale::report {
namespace {

struct ShownPhase {
  const char* heading;
  const char* key;
  Seconds model::IterationTime::*time;
};

constexpr std::array<ShownPhase, 7> shown_phases{{
    {"io ms", "t_io_s", &model::IterationTime::io},
    {"h2d ms", "t_h2d_s", &model::IterationTime::h2d},
    {"forward ms", "t_f_s", &model::IterationTime::forward},
    {"backward ms", "t_b_s", &model::IterationTime::backward},
    {"comm ms", "t_comm_exposed_s", &model::IterationTime::exposed_comm},
    {"update ms", "t_u_s", &model::IterationTime::update},
    {"iteration ms", "t_iter_s", &model::IterationTime::total},
}};

}  // namespace

void add_phase_columns(std::vector<Column>& columns) {
  for (const ShownPhase& phase : shown_phases) columns.push_back({phase.heading});
}

void add_phase_cells(const model::IterationTime& time, std::vector<Cell>& cells) {
  for (const ShownPhase& phase : shown_phases) cells.push_back({milliseconds(time.*phase.time)});
}

void add_gain_columns(std::vector<Column>& columns) {
  for (const char* heading : {"images/s", "speed-up", "efficiency"}) columns.push_back({heading});
  columns.push_back({"bound by", Align::left});
}

void add_gain_cells(const model::Prediction& prediction, std::vector<Cell>& cells) {
  cells.push_back({significant(prediction.images_per_s, 4)});
  cells.push_back({significant(prediction.speedup, 3)});
  cells.push_back({percent(prediction.efficiency)});
  cells.push_back({prediction.bound});
}

void add_phase_keys(std::vector<Column>& columns) {
  for (const ShownPhase& phase : shown_phases) {
    add_columns(columns, Meaning::value, {phase.key});
  }
}

void add_phase_values(const model::IterationTime& time, std::vector<Cell>& cells) {
  for (const ShownPhase& phase : shown_phases) cells.push_back({exact((time.*phase.time).si())});
}

void add_gain_keys(std::vector<Column>& columns) {
  add_columns(columns, Meaning::value, {"images_per_s", "speedup", "efficiency"});
  add_columns(columns, Meaning::remark, {"bound", "notes"});
}

void add_gain_values(const model::Prediction& prediction, std::vector<Cell>& cells) {
  for (const double value : {prediction.images_per_s, prediction.speedup, prediction.efficiency}) {
    cells.push_back({exact(value)});
  }
  cells.push_back({prediction.bound});
  std::vector<std::string> notes;
  for (const model::Note& note : prediction.notes) notes.push_back(note.text());
  cells.push_back({fmt::format("{}", fmt::join(notes, "; "))});
}

}  // namespace dlscale::report
