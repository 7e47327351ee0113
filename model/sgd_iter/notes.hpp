#pragma once
#include <map>
#include <string>
#include <vector>

namespace dlscale::model {

/// What a prediction interpolated, extrapolated or assumed. Notes of one kind are told once, with
/// their number and an example.
class Notes {
 public:
  /// "kernels at batch 16: interpolated" for `what`, a kernel's name for `example`.
  void add(const std::string& what, const std::string& example);
  void add(const std::string& what) { add(what, ""); }
  [[nodiscard]] std::vector<std::string> text() const;

 private:
  struct Kind {
    std::string what;
    std::vector<std::string> examples;  // different ones
  };
  std::vector<Kind> kinds_;  // in the order of their first note
};

}  // namespace dlscale::model
