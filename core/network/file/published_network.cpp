#include "core/network/file/published_network.hpp"

#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "core/config/config_path.hpp"

namespace dlscale {
namespace {

/// Names for which a file of the same name has another form of the network.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> other_files{
    {{"alexnet", "alexnet_owt"}, {"resnet50", "resnet50_v1.5"}, {"resnet152", "resnet152_v1.5"}}};

/// The letters and digits of a name, in lower case.
std::string letters_of(std::string_view name) {
  std::string word;
  for (const char letter : name) {
    const auto code = static_cast<unsigned char>(letter);
    if (std::isalnum(code) != 0) word.push_back(static_cast<char>(std::tolower(code)));
  }
  return word;
}

}  // namespace

std::string find_network(std::string_view name) {
  const std::string word = letters_of(name);
  for (const auto& [published, file] : other_files) {
    if (word == published) return std::string(file);
  }
  for (const std::string& file : config_names("networks")) {
    if (word == letters_of(file)) return file;
  }
  return "";
}

}  // namespace dlscale
