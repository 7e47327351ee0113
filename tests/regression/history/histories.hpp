#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "regression/history/run.hpp"
#include "regression/history/store.hpp"

namespace dlscale::regression::history::samples {

/// A folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A key of a kernel's time.
SeriesKey kernel(const std::string& layer = "conv1");

/// A run with one point for each key.
ImportedRun run_of(const std::vector<SeriesKey>& keys, int commit, double value, int repeat = 0);

/// "c0012": names of commits, whose times are an hour apart.
std::string commit_name(int number);
std::int64_t commit_time(int number);

Store folder_store(const std::filesystem::path& folder);

/// All series, by name.
std::vector<Series> all_series(Store& store);

std::string read_text(const std::filesystem::path& file);
void write_text(const std::filesystem::path& file, std::string_view text);

}  // namespace dlscale::regression::history::samples
