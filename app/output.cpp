#include "app/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>

#include "core/error.hpp"
#include "core/output_file.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

[[noreturn]] void fail(const std::string& path) {
  throw ConfigError(
      fmt::format("{} cannot be written ({}). Choose another place with -o, or free space there.",
                  path, std::strerror(errno)));
}

}  // namespace

void check_standard_output() {
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || std::cout.fail()) {
    throw ConfigError(lost_output);
  }
}

void write_output(const std::string& path, std::string_view text) {
  if (path.empty() || path == "-") {
    (void)std::fwrite(text.data(), 1, text.size(), stdout);
    check_standard_output();
    return;
  }
  std::error_code error;
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) {
    fs::create_directories(folder, error);
  }
  const bool device = fs::exists(path, error) && !fs::is_regular_file(path, error);
  const std::string name = device ? path : path + ".part";
  const int descriptor = open_output(name, O_TRUNC);
  if (descriptor < 0) fail(path);
  const std::unique_ptr<std::FILE, CloseFile> file(fdopen(descriptor, "w"));
  if (!file) fail(path);
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    if (!device) fs::remove(name, error);
    errno = errno != 0 ? errno : ENOSPC;
    fail(path);
  }
  if (!device && std::rename(name.c_str(), path.c_str()) != 0) fail(path);
}

}  // namespace dlscale::app
