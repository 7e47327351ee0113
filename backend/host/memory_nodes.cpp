#include "backend/host/memory_nodes.hpp"

#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace dlscale::backend {
namespace {

std::optional<int> parse_number(std::string_view text) {
  int value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || value < 0) return std::nullopt;
  return value;
}

/// The number behind "node"; nothing for other folder names.
std::optional<int> number_of(const std::string& folder) {
  constexpr std::string_view word = "node";
  if (!folder.starts_with(word)) return std::nullopt;
  return parse_number(std::string_view(folder).substr(word.size()));
}

/// Parses a list: "0-3,8" are the hardware threads 0, 1, 2, 3 and 8.
void add_listed(const std::string& list, int node, std::map<int, int>& nodes) {
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const auto first = parse_number(std::string_view(part).substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : parse_number(std::string_view(part).substr(dash + 1));
    if (!first || !last) continue;
    for (int thread = *first; thread <= *last; ++thread) nodes[thread] = node;
  }
}

}  // namespace

std::map<int, int> memory_nodes_below(const std::filesystem::path& nodes) {
  std::map<int, int> all;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(nodes, absent)) {
    const auto node = number_of(entry.path().filename().string());
    if (!node) continue;
    std::string list;
    std::ifstream(entry.path() / "cpulist") >> list;
    add_listed(list, *node, all);
  }
  return all;
}

}  // namespace dlscale::backend
