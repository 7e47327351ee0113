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

/// The fastest of several algorithms for some work, as kept between processes.
struct KeptChoice {
  std::string name;      ///< name of the chosen algorithm
  Seconds time;          ///< its time
  std::string measured;  ///< time of the measurement: UTC, ISO 8601
  std::string data;      ///< data that recreates it faster than its name; may be empty
  std::string note{};    ///< Trialled::note
};

/// The folder in which choices are kept: $DLSCALE_PLAN_CACHE, else dlscale in $XDG_CACHE_HOME, else
/// in ~/.cache. Nothing if DLSCALE_PLAN_CACHE is "off", or where none of them is set.
std::optional<std::filesystem::path> plan_cache_folder();

/// Facts about the program on which a choice depends, name → version: another build may have faster
/// kernels of our own, or other algorithms.
std::map<std::string, std::string> conditions_of_program();

/// Keeps choices between processes, one file each. Files are replaced atomically, so processes may
/// keep and find the same choice at once. A choice is valid only under the conditions of its
/// measurement and for its key, which describes the work in full. Failures here never fail a run.
class PlanCache {
 public:
  /// A cache that keeps nothing.
  PlanCache() = default;
  /// `conditions`: the device (one of them is "GPU"), the libraries and the program, name →
  /// version. Without a folder it keeps nothing.
  PlanCache(std::optional<std::filesystem::path> folder,
            std::map<std::string, std::string> conditions);

  struct Answer {
    std::optional<KeptChoice> choice{};
    std::string note{};  ///< why an existing entry is not used: "the kept choice is broken"
  };
  [[nodiscard]] Answer find(const std::string& key) const;

  /// Stores a choice. Warns once, on standard error, if the file cannot be written. Skips a choice
  /// whose time is zero, as it was not measured.
  void keep(const std::string& key, const KeptChoice& choice);

 private:
  [[nodiscard]] std::filesystem::path file_of(const std::string& key) const;

  std::optional<std::filesystem::path> folder_;
  std::map<std::string, std::string> conditions_;
  bool warned_ = false;
};

/// Prefix of the origin of a choice that another process made.
inline constexpr std::string_view recalled = "recalled";

/// A choice and its origin, which tells whether its user has spent the time of the trial.
template <class Choice>
struct Chosen {
  Choice choice;
  std::string origin;  ///< "recalled, measured 2026-11-21T10:00:00Z"; empty: measured just now

  /// The same choice, reused by the process that made it.
  [[nodiscard]] Chosen again() const {
    return {choice, origin.starts_with(recalled) ? origin : "measured before by this process"};
  }

  /// Suffix for the name of the implementation: " (recalled, measured …)".
  [[nodiscard]] std::string remark() const { return origin.empty() ? "" : " (" + origin + ")"; }
};

/// A choice just made by trial.
template <class Choice>
struct Trialled {
  Choice choice;
  std::string name;
  Seconds time{};
  std::string data{};
  std::string note{};  ///< faster candidates that must not be chosen, and why; mostly empty
};

/// The current time, as UTC in ISO 8601.
std::string now_text();

/// Returns the choice that `cache` has for `key`, if recall(const KeptChoice&) →
/// std::optional<Choice> can still make it. Otherwise it calls choose() → Trialled<Choice> and
/// keeps the result. An Error of recall() counts as nothing; one of choose() is not caught.
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
    } catch (const Error&) {  // the library refuses what it accepted before
    }
    found.note = "what was kept is not offered";
  }
  Trialled<Choice> made = choose();
  cache.keep(key, {made.name, made.time, now_text(), std::move(made.data), made.note});
  if (!made.note.empty()) found.note += (found.note.empty() ? "" : "; ") + made.note;
  return {std::move(made.choice), found.note.empty() ? "" : "measured now: " + found.note};
}

}  // namespace dlscale::backend
