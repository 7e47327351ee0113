#include "regression/import/content_kind.hpp"

#include <cctype>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "core/system/input_file.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

/// The keys of the outermost object, as far as the JSON is not damaged.
struct OuterKeys {
  std::set<std::string> names;
  std::optional<std::string> schema;  ///< empty if it is not a text
  bool has_other_results = false;     ///< "results" is not a list
  bool is_whole = false;              ///< not damaged, and nothing follows
};

OuterKeys outer_keys(std::istream& content) {
  using Event = json::parse_event_t;
  OuterKeys keys;
  std::string name;
  const auto look = [&](int depth, Event event, const json& parsed) {
    if (depth != 1) return true;
    if (event == Event::key) keys.names.insert(name = parsed.get<std::string>());
    if (event == Event::value && name == "schema") {
      keys.schema = parsed.is_string() ? parsed.get<std::string>() : "";
    }
    if (event == Event::object_start || event == Event::value) {
      keys.has_other_results = keys.has_other_results || name == "results";
    }
    return true;
  };
  keys.is_whole = !json::parse(content, look, /*allow_exceptions=*/false).is_discarded();
  return keys;
}

ContentKind kind_of_text(std::string_view text) {
  if (text.find(":::MLLOG ") != std::string_view::npos) return ContentKind::mllog;
  const bool nccl = text.find("nThread ") != std::string_view::npos ||
                    text.find("busbw") != std::string_view::npos;
  return nccl ? ContentKind::nccl_tests : ContentKind::unknown;
}

void rewind(std::istream& content) {
  content.clear();
  content.seekg(0);
}

/// For JSON that ends or breaks before its keys identify it: a header has the schema anywhere in
/// its first line.
bool names_results_in_first_line(std::istream& content) {
  rewind(content);
  std::string line;
  std::getline(content, line);
  return line.find("\"dlscale.result\"") != std::string::npos;
}

ContentKind kind_of_json(std::istream& content) {
  const OuterKeys keys = outer_keys(content);
  if (keys.schema == "dlscale.result") return ContentKind::result;
  if (keys.schema == "dlscale.validation") return ContentKind::validation;
  if (keys.schema) return ContentKind::unknown;
  if (!keys.is_whole && names_results_in_first_line(content)) return ContentKind::result;
  if (keys.names.contains("context") && (keys.names.contains("benchmarks") || !keys.is_whole)) {
    return ContentKind::google_benchmark;
  }
  const bool has_list = keys.names.contains("results") && !keys.has_other_results;
  return has_list ? ContentKind::hyperfine : ContentKind::unknown;
}

}  // namespace

ContentKind kind_of_content(std::istream& content) {
  rewind(content);
  content >> std::ws;
  const bool is_object = content.peek() == '{';
  if (is_object) return kind_of_json(content);
  if (names_results_in_first_line(content)) return ContentKind::result;
  rewind(content);
  const std::string text{std::istreambuf_iterator<char>(content), {}};
  return kind_of_text(text);
}

ContentKind kind_of_file(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return ContentKind::unknown;
  if (!std::ifstream(path)) return ContentKind::unknown;
  std::istringstream content(read_input(path, "Check the path."));
  return kind_of_content(content);
}

}  // namespace dlscale::regression::history
