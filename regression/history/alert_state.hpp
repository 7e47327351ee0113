#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::regression::history {

/// State of an alert, set by people. An alert is raised as new; a regression that is acknowledged,
/// expected, fixed or invalid no longer fails the check.
enum class AlertState {
  raised,        ///< not yet reviewed: "new"
  acknowledged,  ///< under investigation
  expected,  ///< accepted as the price of a wanted change; a new epoch begins with its own baseline
  fixed,     ///< a later commit fixed it
  invalid    ///< caused by noise or by the machine
};
inline constexpr std::array alert_states{AlertState::raised, AlertState::acknowledged,
                                         AlertState::expected, AlertState::fixed,
                                         AlertState::invalid};
/// "new", "acknowledged", "expected", "fixed", "invalid". The parser throws ConfigError.
std::string_view alert_state_name(AlertState state);
AlertState parse_alert_state(std::string_view word);

/// Whether an alert may change from one state to another. The order is new → acknowledged →
/// expected → fixed or invalid; steps may be skipped, and only "new" goes back, which reopens any
/// alert.
bool may_follow(AlertState before, AlertState after);

/// One line of annotations.jsonl: it sets the state of a commit's alert for these series, and for
/// no others. The latest annotation of a series counts; within one second, the last line.
struct Annotation {
  std::int64_t time = 0;  ///< when it was made: s since 1970, UTC
  std::string commit;     ///< first commit at the new level, which names the alert
  AlertState state = AlertState::raised;
  std::vector<std::string> series;  ///< ids, sorted
  std::string note;                 ///< for people: the reason, or a bug number
};
std::string annotation_line(const Annotation& annotation);
Annotation parse_annotation(std::string_view line);  ///< throws ConfigError without the place

}  // namespace dlscale::regression::history
