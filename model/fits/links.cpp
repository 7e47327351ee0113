#include "model/fits/links.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>

namespace dlscale::model {

std::string links_between_hosts(const Environment& environment) {
  const auto found = environment.variables.find("DLSCALE_CLUSTER");
  if (found == environment.variables.end()) return "";
  const std::string& cluster = found->second;
  std::istringstream words(cluster.substr(std::min(cluster.find("links of"), cluster.size())));
  std::string links;
  std::string last;
  for (std::string word; words >> word;) {
    if (word.ends_with(',')) word.pop_back();
    if (word == last) continue;
    links += (links.empty() ? "" : " ") + word;
    last = word;
  }
  return links.empty() ? cluster : links;
}

int cores_of_hosts(const Environment& environment) {
  constexpr std::string_view before = "on one machine with cores ";
  const auto found = environment.variables.find("DLSCALE_CLUSTER");
  if (found == environment.variables.end()) return 0;
  const std::string& cluster = found->second;
  const auto first = cluster.find(before);
  if (first == std::string::npos) return 0;
  std::string list = cluster.substr(first + before.size());
  list.resize(std::min(list.find(", links"), list.size()));
  std::ranges::replace(list, '|', ' ');
  std::ranges::replace(list, ',', ' ');
  std::istringstream words(list);
  std::set<std::string> cores;
  for (std::string word; words >> word;) cores.insert(word);
  return static_cast<int>(cores.size());
}

int alike(std::span<const int> values) {
  if (values.empty()) return 0;
  const bool same = std::ranges::all_of(values, [&](int value) { return value == values.front(); });
  return same ? values.front() : 0;
}

bool is_between_hosts(const Measurement& measurement) {
  const auto ranks = measurement.axes.find("ranks");
  const auto on_host = measurement.axes.find("ranks_on_node");
  const auto unknown = measurement.axes.end();
  return ranks != unknown && on_host != unknown && ranks->second != on_host->second;
}

}  // namespace dlscale::model
