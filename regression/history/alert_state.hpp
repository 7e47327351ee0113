#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::report::history {

/// What people have made of an alert. It is raised as new; a regression that is acknowledged,
/// expected, fixed or invalid fails no check any more.
enum class AlertState {
  raised,        ///< nobody has looked at it: "new"
  acknowledged,  ///< somebody works on it
  expected,      ///< the price of something wanted: a new epoch begins, with a baseline of its own
  fixed,         ///< a later commit mended it
  invalid        ///< it was noise, or the machine
};
inline constexpr std::array alert_states{AlertState::raised, AlertState::acknowledged,
                                         AlertState::expected, AlertState::fixed,
                                         AlertState::invalid};
/// "new", "acknowledged", "expected", "fixed", "invalid"; the parser throws ConfigError.
std::string_view alert_state_name(AlertState state);
AlertState parse_alert_state(std::string_view word);

/// new → acknowledged → expected → fixed or invalid, of which steps may be left out and none goes
/// back, but for "new", which opens any alert again.
bool may_follow(AlertState before, AlertState after);

/// A line of annotations.jsonl: from then on the alert of this commit, of these series, is in this
/// state. The latest of an alert counts, and of the same second the last line.
struct Annotation {
  std::int64_t time = 0;  ///< s since 1970, UTC, when it was made
  std::string commit;     ///< the first at the new level, which is what an alert is called by
  AlertState state = AlertState::raised;
  std::vector<std::string> series;  ///< ids, sorted
  std::string note;                 ///< for people: why, or the number of a bug
};
std::string annotation_line(const Annotation& annotation);
Annotation parse_annotation(std::string_view line);  ///< throws ConfigError without the place

}  // namespace dlscale::report::history
