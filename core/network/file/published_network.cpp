#include "core/network/file/published_network.hpp"

#include <array>
#include <string>
#include <utility>

#include "core/base/plain_name.hpp"
#include "core/config/config_path.hpp"

namespace dlscale {
namespace {

/// Names for which a file of the same name has another form of the network.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> other_files{
    {{"alexnet", "alexnet_owt"}, {"resnet50", "resnet50_v1.5"}, {"resnet152", "resnet152_v1.5"}}};

}  // namespace

std::string find_network(std::string_view name) {
  const std::string word = plain_name(name);
  for (const auto& [published, file] : other_files) {
    if (word == published) return std::string(file);
  }
  for (const std::string& file : config_names("networks")) {
    if (word == plain_name(file)) return file;
  }
  return "";
}

}  // namespace dlscale
