#pragma once
#include <cctype>
#include <string>
#include <string_view>

namespace dlscale {

/// The letters and digits of a name, in lower case: those of "ResNet-50" and "resnet50" are equal.
inline std::string plain_name(std::string_view name) {
  std::string word;
  for (const char letter : name) {
    const auto code = static_cast<unsigned char>(letter);
    if (std::isalnum(code) != 0) word.push_back(static_cast<char>(std::tolower(code)));
  }
  return word;
}

}  // namespace dlscale
