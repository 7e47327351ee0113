#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {

inline bool mentions(const Prediction& prediction, const std::string& text) {
  return std::any_of(prediction.notes.begin(), prediction.notes.end(),
                     [&](const Note& note) { return note.text().find(text) != std::string::npos; });
}

inline std::string all(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

inline std::string all(const std::vector<Note>& notes) {
  std::string text;
  for (const Note& note : notes) text += note.text() + "\n";
  return text;
}

}  // namespace dlscale::model
