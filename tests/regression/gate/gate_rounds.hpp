#pragma once
#include <string>
#include <vector>

#include "regression/gate/gate.hpp"
#include "regression/gate/noise_study.hpp"

namespace dlscale::regression {

inline RunOutcome run_of(double seconds) {
  RunOutcome run;
  run.values = {{.key = "gemm",
                 .series = "time",
                 .unit = "s",
                 .direction = Direction::smaller_is_better,
                 .statistic = RunStatistic::minimum,
                 .value = seconds,
                 .samples = 10,
                 .spread = 0}};
  run.machine = {{"host", "here"}, {"ranks", "2"}};
  return run;
}

inline Round round_of(int number, double base, double changed) {
  Round round;
  round.number = number;
  round.order = {base_arm, changed_arm};
  round.runs = {{base_arm, run_of(base)}, {changed_arm, run_of(changed)}};
  round.seconds = 1;
  round.date = "2026-11-23T05:00:00Z";
  return round;
}

inline std::vector<Round> rounds_of(int count, double base, double changed) {
  std::vector<Round> rounds;
  for (int i = 1; i <= count; ++i) rounds.push_back(round_of(i, base, changed));
  return rounds;
}

inline RunConditions conditions_of(const GpuConditions& gpu) {
  RunConditions conditions;
  conditions.gpus["gemm"] = gpu;
  return conditions;
}

/// A round in which the new version ran on a GPU that was too hot.
inline Round hot_round(int number) {
  Round round = round_of(number, 1, 2);
  round.runs[changed_arm].conditions = conditions_of({{"power brake"}, 0, 2e9});
  return round;
}

/// The outcome of a suite with one step on one rank and one on several.
inline RunOutcome run_of_files(const std::string& ranks, const std::string& affinity) {
  RunOutcome run = run_of(1);
  run.machine = {{"host", "here"}, {"ranks", ranks}};
  run.files = {{"a.jsonl", {{{"host", "here"}, {"ranks", "1"}, {"affinity", "0"}}, "b"}},
               {"z.jsonl", {{{"host", "here"}, {"ranks", ranks}, {"affinity", affinity}}, "b"}}};
  return run;
}

/// A round of a study of noise.
inline Round noise_round(int number, bool is_slowed) {
  const double jitter = 1e-3 * (number % 3);
  Round round;
  round.number = number;
  round.runs = {{noise_arm("gemm", 0), run_of(1 + jitter)},
                {noise_twin("gemm"), run_of(is_slowed ? 9 : 1)},
                {noise_arm("gemm", 5), run_of(1.05)}};
  if (is_slowed) round.runs[noise_twin("gemm")].conditions.slowed_by_heat = 1;
  round.seconds = 1;
  return round;
}

/// The verdict on the rounds.
inline GateReport verdict_on(const std::vector<Round>& rounds, const GateRule& rule = {},
                             int ranks = 0) {
  Gate gate(rule, ranks);
  for (const Round& round : rounds) gate.add(round);
  return gate.verdict();
}

inline bool wants_more(const std::vector<Round>& rounds) {
  Gate gate{GateRule{}};
  for (const Round& round : rounds) gate.add(round);
  return gate.wants_more();
}

}  // namespace dlscale::regression
