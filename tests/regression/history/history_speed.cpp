// How fast a history of a million points is read and judged, how fast large files are added to one,
// and in how much memory. No test.
//
//   dlscale_history_speed write FOLDER [SERIES [COMMITS]]   makes a history, of 1000 by 1000
//   dlscale_history_speed check FOLDER                      reads and judges it
//   dlscale_history_speed rows FILE [ROWS [NAMES]]          makes JSON of Google Benchmark
//   dlscale_history_speed add FOLDER FILE COMMIT            reads such a file and adds it
#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "regression/check/check.hpp"
#include "regression/history/run.hpp"
#include "regression/history/store.hpp"

namespace dlscale::regression::history {
namespace {

constexpr std::size_t runs_at_once = 100;

SeriesKey series_key(int series) {
  SeriesKey key;
  key.suite = "conv";
  key.axes = {{"backend", "onednn"},
              {"batch", "8"},
              {"dtype", "f32"},
              {"layer", fmt::format("conv{}", series)},
              {"pass", "forward"}};
  key.metric = "time";
  key.unit = "s";
  key.machine = {{"cpu", "AMD EPYC"}, {"cores", "2"}, {"memory", "24 GiB"}};
  key.environment = {{"compiler", "GNU 12.2.0"}, {"oneDNN", "2.6.3"}};
  key.launch = {{"ranks", "1"}, {"affinity", "0-1"}};
  return key;
}

/// 2 % of noise; every tenth series got 10 % slower a hundred commits before the end.
double measured(int series, int commit, int commits, std::mt19937& generator) {
  std::normal_distribution<double> noise(0, 0.02);
  const bool slower = series % 10 == 0 && commit >= commits - 100;
  return (slower ? 1.1e-3 : 1e-3) * (1 + series) * std::exp(noise(generator));
}

ImportedRun make_run(const std::vector<SeriesKey>& keys, int commit, int commits,
                     std::mt19937& generator) {
  ImportedRun run;
  run.file = fmt::format("{}.jsonl", commit);
  run.format = "made up";
  run.commit = fmt::format("{:040x}", commit + 1);
  run.time = 1'600'000'000 + 3600LL * commit;
  run.content = run.commit + "\n";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::array<double, 5> samples{};
    for (double& sample : samples)
      sample = measured(static_cast<int>(i), commit, commits, generator);
    Point point;
    point.time = run.time;
    point.commit = run.commit;
    point.summary = summarize(samples);
    run.points.push_back({keys[i], point});
  }
  return run;
}

void write(Store& store, int series, int commits) {
  std::vector<SeriesKey> keys;
  for (int i = 0; i < series; ++i) keys.push_back(series_key(i));
  std::mt19937 generator(1);
  std::vector<ImportedRun> runs;
  for (int commit = 0; commit < commits; ++commit) {
    runs.push_back(make_run(keys, commit, commits, generator));
    if (runs.size() < runs_at_once && commit + 1 < commits) continue;
    store.add(runs);
    runs.clear();
  }
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double most_megabytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) * 1024e-6;
}

void look(Store& store) {
  const auto begin = Clock::now();
  const CheckReport report = check(store, [](const SeriesKey&) { return true; });
  fmt::print("{} points of {} series: {:.2f} s, at most {:.0f} MB resident, {} alerts\n",
             report.points, report.series.size(), seconds_since(begin), most_megabytes(),
             report.alerts.size());
}

/// Repetitions of each benchmark, with all the keys that Google Benchmark writes.
void write_rows(const std::string& path, int rows, int names) {
  std::ofstream file(path);
  file << R"({
  "context": {
    "date": "2026-01-31T12:00:00+00:00",
    "executable": "./bench",
    "num_cpus": 8,
    "mhz_per_cpu": 2400,
    "cpu_scaling_enabled": false,
    "caches": [],
    "load_avg": [0.1,0.2,0.3],
    "library_build_type": "release"
  },
  "benchmarks": [
)";
  std::mt19937 generator(1);
  std::normal_distribution<double> noise(1, 0.02);
  const int repetitions = rows / names;
  for (int row = 0; row < rows; ++row) {
    const int benchmark = row / repetitions;
    const std::string name = fmt::format("BM_Copy/{}/64", benchmark);
    file << fmt::format(R"(    {{
      "name": "{}",
      "family_index": {},
      "per_family_instance_index": 0,
      "run_name": "{}",
      "run_type": "iteration",
      "repetitions": {},
      "repetition_index": {},
      "threads": 1,
      "iterations": 1000,
      "real_time": {:.16e},
      "cpu_time": {:.16e},
      "time_unit": "ns"
    }}{}
)",
                        name, benchmark, name, repetitions, row % repetitions,
                        100 * noise(generator), 99 * noise(generator), row + 1 < rows ? "," : "");
  }
  file << "  ]\n}\n";
}

void add_file(const std::string& folder, const std::string& file, const std::string& commit) {
  auto begin = Clock::now();
  RunOptions options;
  options.commit = commit;
  const std::array runs{read_run(file, options)};
  const double read = seconds_since(begin);
  begin = Clock::now();
  const AddReport report = Store(folder).add(runs);
  fmt::print("{} points, {} new series: read in {:.2f} s, added in {:.2f} s, at most {:.0f} MB\n",
             report.points, report.new_series, read, seconds_since(begin), most_megabytes());
}

int number_at(const std::vector<std::string>& words, std::size_t place, int usual) {
  return words.size() > place ? std::stoi(words[place]) : usual;
}

int run(const std::vector<std::string>& words) {
  constexpr int usual = 1000;
  const std::string verb = words.size() < 2 ? "" : words[0];
  if (verb == "check") {
    Store store(words[1]);
    look(store);
  } else if (verb == "write") {
    Store store(words[1]);
    write(store, number_at(words, 2, usual), number_at(words, 3, usual));
  } else if (verb == "rows") {
    write_rows(words[1], number_at(words, 2, 300 * usual), number_at(words, 3, usual));
  } else if (verb == "add" && words.size() == 4) {
    add_file(words[1], words[2], words[3]);
  } else {
    fmt::print(stderr, "usage: dlscale_history_speed write|check|rows|add PLACE …\n");
    return static_cast<int>(ExitCode::bad_input);
  }
  return 0;
}

}  // namespace
}  // namespace dlscale::regression::history

int main(int count, char** words) {
  try {
    return dlscale::regression::history::run({words + 1, words + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "dlscale_history_speed: {}\n", error.what());
    return 2;
  }
}
