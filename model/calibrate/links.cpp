#include "model/calibrate/links.hpp"

#include <algorithm>
#include <sstream>

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

bool is_between_hosts(const Measurement& measurement) {
  const auto ranks = measurement.axes.find("ranks");
  const auto on_host = measurement.axes.find("ranks_on_node");
  const auto unknown = measurement.axes.end();
  return ranks != unknown && on_host != unknown && ranks->second != on_host->second;
}

}  // namespace dlscale::model
