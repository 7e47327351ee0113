#include "core/results/trace_event.hpp"

#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>

namespace dlscale {
namespace {

using Json = nlohmann::ordered_json;

double nanoseconds(Seconds time) {
  return std::round(time.si() * 1e9);
}

/// Names come from files; invalid UTF-8 becomes U+FFFD.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

/// Rounds ends rather than lengths, so that adjacent spans do not seem to overlap.
std::string trace_line(const TraceEvent& event) {
  const double start = nanoseconds(event.start);
  const double end = nanoseconds(event.start + event.duration);
  Json args = {{"pass", event.what}};
  if (event.bytes > 0) args["bytes"] = event.bytes;
  for (const auto& [name, value] : event.numbers) args[name] = value;
  return dump({{"name", event.name},
               {"cat", event.category},
               {"ph", "X"},
               {"ts", start / 1e3},
               {"dur", (end - start) / 1e3},
               {"pid", event.process},
               {"tid", event.row},
               {"args", args}});
}

std::string trace_name_line(int process, std::string_view what, std::size_t row,
                            const std::string& name) {
  return dump(
      {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", row}, {"args", {{"name", name}}}});
}

bool is_trace(std::istream& content) {
  std::string start(trace_opening.size(), ' ');
  content.read(start.data(), static_cast<std::streamsize>(start.size()));
  return content && start == trace_opening;
}

}  // namespace dlscale
