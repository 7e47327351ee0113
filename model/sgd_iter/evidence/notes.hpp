#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace dlscale::model {

/// "kernels at batch 16: interpolated", and the kernels' names: different ones, in order.
struct Note {
  std::string what;
  std::vector<std::string> examples = {};
  /// With the first example and how many more there are.
  [[nodiscard]] std::string text() const;
  bool operator==(const Note&) const = default;
};

/// What predictions interpolated, extrapolated or assumed. Notes that say the same of different
/// examples are one. What changes with the number of ranks belongs to the examples, so that several
/// predictions say it once.
class Notes {
 public:
  void add(const std::string& what, const std::string& example) { add(Note{what, {example}}); }
  void add(const std::string& what) { add(Note{what, {}}); }
  /// Its place among all().
  std::size_t add(const Note& note);
  [[nodiscard]] const std::vector<Note>& all() const { return notes_; }
  [[nodiscard]] std::vector<std::string> text() const;

 private:
  std::vector<Note> notes_;  // in the order of their first addition
};

}  // namespace dlscale::model
