#include "model/sgd_iter/evidence/notes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlscale::model {

std::string Note::text() const {
  if (examples.empty()) return what;
  if (examples.size() == 1) return fmt::format("{} ({})", what, examples.front());
  return fmt::format("{} ({} and {} more)", what, examples.front(), examples.size() - 1);
}

std::size_t Notes::add(const Note& note) {
  auto known = std::ranges::find(notes_, note.what, &Note::what);
  if (known == notes_.end()) known = notes_.insert(notes_.end(), Note{note.what, {}});
  auto& examples = known->examples;
  for (const std::string& example : note.examples) {
    if (std::ranges::find(examples, example) == examples.end()) examples.push_back(example);
  }
  return static_cast<std::size_t>(known - notes_.begin());
}

std::vector<std::string> Notes::text() const {
  std::vector<std::string> lines;
  lines.reserve(notes_.size());
  for (const Note& note : notes_) lines.push_back(note.text());
  return lines;
}

}  // namespace dlscale::model
