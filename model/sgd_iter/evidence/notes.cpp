#include "model/sgd_iter/evidence/notes.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::model {

std::string_view time_source_name(TimeSource source) {
  switch (source) {
    case TimeSource::measured:
      return "measured";
    case TimeSource::fitted:
      return "fitted";
    case TimeSource::other_ranks:
      return "other ranks";
    case TimeSource::interpolated:
      return "interpolated";
    case TimeSource::extrapolated:
      return "extrapolated";
    case TimeSource::unfused:
      return "unfused";
    case TimeSource::efficiency:
      return "efficiency";
    case TimeSource::data_sheet:
      return "data sheet";
  }
  fail_expectation("source is a TimeSource");
}

std::optional<TimeSource> less_sure(std::optional<TimeSource> known, TimeSource more) {
  return known ? std::max(*known, more) : more;
}

std::size_t Notes::add(const Note& note) {
  auto known = std::ranges::find_if(notes_, [&](const Note& each) {
    return each.kind == note.kind && each.values == note.values;
  });
  if (known == notes_.end()) known = notes_.insert(notes_.end(), {note.kind, note.values, {}});
  auto& examples = known->examples;
  for (const NoteValues& example : note.examples) {
    if (std::ranges::find(examples, example) == examples.end()) examples.push_back(example);
  }
  return static_cast<std::size_t>(known - notes_.begin());
}

}  // namespace dlscale::model
