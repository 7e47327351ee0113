#include "histories.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/base/statistics.hpp"
#include "core/system/input_file.hpp"

namespace dlscale::regression::history::samples {

namespace fs = std::filesystem;

namespace {

/// Memory where there is room for the largest history of the tests. Each history flushes its file
/// system, which takes a busy disk seconds.
fs::path quick_folder() {
  constexpr std::uintmax_t needed = std::uintmax_t{256} << 20;
  const fs::path memory = "/dev/shm";
  std::error_code none;
  const fs::space_info space = fs::space(memory, none);
  return none || space.available < needed ? fs::temp_directory_path() : memory;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (quick_folder() / "history-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code unknown;
  fs::remove_all(path_, unknown);
}

SeriesKey kernel(const std::string& layer) {
  SeriesKey key;
  key.suite = "conv";
  key.axes = {{"batch", "8"}, {"layer", layer}};
  key.metric = "time";
  key.unit = "s";
  key.direction = Direction::smaller_is_better;
  key.machine = {{"cpu", "a processor"}, {"cores", "2"}};
  key.environment = {{"compiler", "GNU 12.2.0"}, {"oneDNN", "2.6.3"}};
  key.launch = {{"ranks", "1"}};
  return key;
}

std::string commit_name(int number) {
  return fmt::format("c{:04}", number);
}

std::int64_t commit_time(int number) {
  constexpr std::int64_t first = 1'700'000'000;
  return first + 3600 * number;
}

ImportedRun run_of(const std::vector<SeriesKey>& keys, int commit, double value, int repeat) {
  ImportedRun run;
  run.file = fmt::format("{}-{}.jsonl", commit_name(commit), repeat);
  run.content = fmt::format("{} {} {}\n", run.file, value, keys.size());
  run.is_dated = true;
  run.format = "test";
  run.commit = commit_name(commit);
  run.time = commit_time(commit) + 60 * repeat;
  for (const SeriesKey& key : keys) {
    Point point;
    point.time = run.time;
    point.commit = run.commit;
    point.summary = summarize(std::array{value});
    run.points.push_back({key, point});
  }
  number_parts(run);
  return run;
}

Store folder_store(const fs::path& folder) {
  return Store(folder);
}

std::vector<Series> all_series(Store& store) {
  std::vector<Series> all;
  store.each_series([](const SeriesKey&) { return true; },
                    [&](Series&& series) { all.push_back(std::move(series)); });
  std::ranges::sort(all, {}, [](const Series& series) { return series.key.name(); });
  return all;
}

std::string read_text(const fs::path& file) {
  return content_of(file);
}

void write_text(const fs::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary) << text;
}

}  // namespace dlscale::regression::history::samples
