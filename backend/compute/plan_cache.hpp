#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/units.hpp"

namespace dlscale::backend {

/// What was fastest of several ways to do something, as it is kept between processes.
struct KeptChoice {
  std::string name;      ///< of the way, among those there are
  Seconds time;          ///< that it took
  std::string measured;  ///< when: UTC, ISO 8601
  std::string data;      ///< with which the way is made faster than from its name; may be empty
  std::string note{};    ///< Trialled::note
};

/// The folder in which choices are kept: $DLSCALE_PLAN_CACHE, else dlscale in $XDG_CACHE_HOME, else
/// in ~/.cache. Nothing if DLSCALE_PLAN_CACHE is "off", or where none of them is set.
std::optional<std::filesystem::path> plan_cache_folder();

/// What of the program itself a choice depends on, name → version: another build may have faster
/// kernels of our own, or other algorithms to choose from.
std::map<std::string, std::string> conditions_of_program();

/// Keeps choices between processes, a file each, which is replaced as a whole: processes may keep
/// and find the same at once. A choice holds under the conditions under which it was made only, and
/// for its key: the work, to the last size. Nothing here fails a run.
class PlanCache {
 public:
  /// Keeps nothing.
  PlanCache() = default;
  /// `conditions`: the device (one of them is "GPU"), the libraries and the program, name →
  /// version. Without a folder it keeps nothing.
  PlanCache(std::optional<std::filesystem::path> folder,
            std::map<std::string, std::string> conditions);

  struct Answer {
    std::optional<KeptChoice> choice{};
    std::string note{};  ///< why an entry that is there is not used: "the kept choice is broken"
  };
  [[nodiscard]] Answer find(const std::string& key) const;

  /// Where the file cannot be written it says so once, on standard error. What took no time was not
  /// measured, and is not kept.
  void keep(const std::string& key, const KeptChoice& choice);

 private:
  [[nodiscard]] std::filesystem::path file_of(const std::string& key) const;

  std::optional<std::filesystem::path> folder_;
  std::map<std::string, std::string> conditions_;
  bool warned_ = false;
};

/// What the origin of a choice that another process made begins with.
inline constexpr std::string_view recalled = "recalled";

/// A choice, and where it comes from: who makes something by it has spent the time of the trial, or
/// has not.
template <class Choice>
struct Chosen {
  Choice choice;
  std::string origin;  ///< "recalled, measured 2026-11-21T10:00:00Z"; empty: measured just now

  /// The same, met once more by the process that has it.
  [[nodiscard]] Chosen again() const {
    return {choice, origin.starts_with(recalled) ? origin : "measured before by this process"};
  }

  /// " (recalled, measured …)", to follow the name of what runs.
  [[nodiscard]] std::string remark() const { return origin.empty() ? "" : " (" + origin + ")"; }
};

/// A choice just made by trial.
template <class Choice>
struct Trialled {
  Choice choice;
  std::string name;
  Seconds time{};
  std::string data{};
  std::string note{};  ///< what was faster, but must not be chosen, and why; mostly empty
};

/// Now, as UTC in ISO 8601.
std::string now_text();

/// The choice that `cache` has for `key`, if recall(const KeptChoice&) → std::optional<Choice> can
/// still make it; else what choose() → Trialled<Choice> makes, which is kept. An Error of recall()
/// is a no; one of choose() is not caught.
template <class Choice, class Recall, class Choose>
Chosen<Choice> recall_or_choose(PlanCache& cache, const std::string& key, const Recall& recall,
                                const Choose& choose) {
  PlanCache::Answer found = cache.find(key);
  if (found.choice) {
    try {
      if (std::optional<Choice> again = recall(*found.choice)) {
        const std::string& note = found.choice->note;
        return {std::move(*again), std::string(recalled) + ", measured " + found.choice->measured +
                                       (note.empty() ? "" : "; " + note)};
      }
    } catch (const Error&) {  // the library refuses what it took before
    }
    found.note = "what was kept is not offered";
  }
  Trialled<Choice> made = choose();
  cache.keep(key, {made.name, made.time, now_text(), std::move(made.data), made.note});
  if (!made.note.empty()) found.note += (found.note.empty() ? "" : "; ") + made.note;
  return {std::move(made.choice), found.note.empty() ? "" : "measured now: " + found.note};
}

}  // namespace dlscale::backend
