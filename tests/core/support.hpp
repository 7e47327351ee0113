#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/system/input_file.hpp"

namespace dlscale::test {

/// A folder of this test's own, gone with its object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dlscale_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }
  std::filesystem::path write(std::string_view name, std::string_view text) const {
    std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::filesystem::path& file) {
  return content_of(file);
}

/// `text` with the first `from` replaced by `to`.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string copy(text);
  const auto place = copy.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  if (place != std::string::npos) copy.replace(place, from.size(), to);
  return copy;
}

/// The message of the ConfigError that `action` throws; a failure if it throws none.
template <class Action>
std::string config_error(Action action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no ConfigError";
  return {};
}

/// What `load` makes of the name of a file small.yaml with this text.
template <class Load>
auto load_text(std::string_view text, Load load) {
  const TemporaryFolder folder;
  return load(folder.write("small.yaml", text).string());
}

/// How `load` refuses the text with the first `from` replaced by `to`.
template <class Load>
std::string error_after(std::string_view text, std::string_view from, std::string_view to,
                        Load load) {
  return config_error([&] { (void)load_text(replaced(text, from, to), load); });
}

inline void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << '"' << text << "\" lacks \"" << part << '"';
}

}  // namespace dlscale::test
