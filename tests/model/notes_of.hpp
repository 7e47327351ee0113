#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "model/sgd_iter/predict.hpp"
#include "report/prediction/note_text.hpp"

namespace dlscale::model {

inline bool mentions(const std::vector<Note>& notes, NoteKind kind) {
  return std::ranges::find(notes, kind, &Note::kind) != notes.end();
}

inline bool mentions(const Prediction& prediction, NoteKind kind) {
  return mentions(prediction.notes, kind);
}

/// For values in the sentence; its words are tested with report/prediction/note_text.
inline bool mentions(const Prediction& prediction, const std::string& text) {
  return std::ranges::any_of(prediction.notes, [&](const Note& note) {
    return report::note_text(note).find(text) != std::string::npos;
  });
}

inline std::string all(const std::vector<Note>& notes) {
  std::string text;
  for (const Note& note : notes) text += report::note_text(note) + "\n";
  return text;
}

}  // namespace dlscale::model
