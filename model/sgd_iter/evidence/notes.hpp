#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace dlscale::model {

/// A note, "kernels at batch 16: interpolated", with its distinct examples in order (names of
/// kernels).
struct Note {
  std::string what;
  std::vector<std::string> examples = {};
  /// The note with its first example and the number of others.
  [[nodiscard]] std::string text() const;
  bool operator==(const Note&) const = default;
};

/// Interpolations, extrapolations and assumptions of predictions. Equal notes with different
/// examples are one. Facts that change with the number of ranks belong in the examples, so that
/// several predictions share a note.
class Notes {
 public:
  void add(const std::string& what, const std::string& example) { add(Note{what, {example}}); }
  void add(const std::string& what) { add(Note{what, {}}); }
  /// Returns its index in all().
  std::size_t add(const Note& note);
  [[nodiscard]] const std::vector<Note>& all() const { return notes_; }
  [[nodiscard]] std::vector<std::string> text() const;

 private:
  std::vector<Note> notes_;  // in the order of their first addition
};

}  // namespace dlscale::model
