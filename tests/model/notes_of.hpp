#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "model/sgd_iter/predict.hpp"
#include "report/prediction/note_text.hpp"

namespace dlscale::model {

inline bool mentions(const Prediction& prediction, NoteKind kind) {
  return std::ranges::find(prediction.notes, kind, &Note::kind) != prediction.notes.end();
}

inline bool mentions(const Prediction& prediction, const std::string& text) {
  return std::ranges::any_of(prediction.notes, [&](const Note& note) {
    return report::note_text(note).find(text) != std::string::npos;
  });
}

inline std::string all(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

inline std::string all(const std::vector<Note>& notes) {
  return all(report::note_texts(notes));
}

}  // namespace dlscale::model
