#include "core/system/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "core/base/error.hpp"
#include "core/system/output_file.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error) {
  throw ConfigError(
      fmt::format("{} cannot be written ({}). Choose another place with -o, or free space there.",
                  path, std::strerror(error)));
}

/// Writes in one piece, without an allocation.
void say(std::string_view sentence) {
  (void)std::fwrite(sentence.data(), 1, sentence.size(), stderr);
}

}  // namespace

void say_out_of_memory() {
  say("dlscale: there is not enough memory for what was asked for. Choose smaller sizes, batches "
      "or layers, or fewer ranks.\n");
}

void say_too_large() {
  say("dlscale: what was asked for is larger than the memory of any machine. Choose smaller sizes, "
      "batches or layers.\n");
}

void check_standard_output() {
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || std::cout.fail()) {
    throw ConfigError(lost_output);
  }
}

void write_output(const std::string& path, std::string_view text) {
  if (path.empty() || path == "-") {
    check_standard_output();
    if (write_all(STDOUT_FILENO, text) != 0) throw ConfigError(lost_output);
    return;
  }
  std::error_code error;
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) {
    fs::create_directories(folder, error);
    if (error) fail(path, error.value());
  }
  if (const int problem = write_whole(path, text); problem != 0) fail(path, problem);
}

}  // namespace dlscale
