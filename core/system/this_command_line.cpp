#include "core/system/this_command_line.hpp"

#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

namespace dlscale {

const std::filesystem::path& this_program() {
  static const std::filesystem::path program = [] {
    std::error_code unknown;
    return std::filesystem::read_symlink("/proc/self/exe", unknown);
  }();
  return program;
}

std::vector<std::string> this_command_line() {
  std::vector<std::string> words;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/cmdline", "r"),
                                                       std::fclose);
  std::string word;
  for (int c = 0; file && (c = std::fgetc(file.get())) != EOF;) {
    if (c != 0) {
      word += static_cast<char>(c);
    } else {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

}  // namespace dlscale
