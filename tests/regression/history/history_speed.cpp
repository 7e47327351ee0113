// How fast a history of a million points is read and judged, and in how much memory. No test.
//
//   dlscale_history_speed write FOLDER [SERIES [COMMITS]]   makes a history, of 1000 by 1000
//   dlscale_history_speed check FOLDER                      reads and judges it
#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
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

void look(Store& store) {
  const auto begin = std::chrono::steady_clock::now();
  const CheckReport report = check(store, [](const SeriesKey&) { return true; });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  fmt::print("{} points of {} series: {:.2f} s, at most {:.0f} MB resident, {} alerts\n",
             report.points, report.series.size(), seconds.count(),
             static_cast<double>(used.ru_maxrss) * 1024e-6, report.alerts.size());
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 2 || (words[0] != "write" && words[0] != "check")) {
    fmt::print(stderr, "usage: dlscale_history_speed write|check FOLDER [SERIES [COMMITS]]\n");
    return static_cast<int>(ExitCode::bad_input);
  }
  Store store(words[1]);
  if (words[0] == "check") {
    look(store);
    return 0;
  }
  constexpr int usual = 1000;
  write(store, words.size() > 2 ? std::stoi(words[2]) : usual,
        words.size() > 3 ? std::stoi(words[3]) : usual);
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
