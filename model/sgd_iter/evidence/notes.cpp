#include "model/sgd_iter/evidence/notes.hpp"

#include <algorithm>

namespace dlscale::model {

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
