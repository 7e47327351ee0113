#include "tests/fuzz/targets.hpp"

#include <cmath>
#include <stdexcept>

#include "regression/history/run.hpp"

namespace dlscale::fuzz {

namespace history = regression::history;

std::vector<std::string> history_seeds() {
  return {
      R"({"context": {"date": "2026-01-31T12:00:00+01:00", "executable": "/a/bench", "num_cpus": 2,
 "caches": [{"type": "Data", "level": 1, "size": 32768}], "library_build_type": "release"},
 "benchmarks": [
 {"name": "A/8", "run_name": "A/8", "run_type": "iteration", "repetition_index": 0, "real_time": 3.0,
  "cpu_time": 2.0, "time_unit": "us", "bytes_per_second": 5e9, "counter": NaN, "label": "-NaN"},
 {"name": "B_median", "run_name": "B", "run_type": "aggregate", "aggregate_name": "median",
  "real_time": 4.0, "cpu_time": 4.0, "time_unit": "ms"}]})",
      R"(# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#  Rank  0 Group  0 Pid    653 on a device  0 [0000:06:00] NVIDIA H100
#  Rank  1 Group  0 Pid    654 on b device  0 [0000:09:00] NVIDIA H100
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
           8             2     float     sum      -1    20.00    0.00    0.00       0    25.00    0.00    0.00       0
        1024           256     float     sum      -1    45.80   10.00   20.00       0    43.80   10.10   20.10       7
)",
      R"({"results": [{"command": "train", "times": [1.0, 2.0], "exit_codes": [0, 0],
 "parameters": {"threads": "4"}}]})",
      R"({"schema": "dlscale.validation", "version": 1, "runs": [{"key": "e2e", "links": null,
 "run": {"network": "alexnet", "ranks": 2, "credit": null}, "backend": "onednn", "errors": [-0.1],
 "phases": [{"phase": "t_iter", "predicted_s": 1.02, "measured_s": 1.0}]}]})"};
}

void use_history(const std::filesystem::path& file) {
  history::RunOptions options;
  options.commit = "c1";
  options.time = 0;
  for (const history::KeyedPoint& keyed : history::read_run(file.string(), options).points) {
    if (!(history::parse_series_key(keyed.key.text()).id() == keyed.key.id())) {
      throw std::logic_error("a key is another once it was written");
    }
    const std::string line = history::point_line(keyed.point);
    const history::Point again = history::parse_point({line.data(), line.size() - 1});
    if (again.summary.median != keyed.point.summary.median ||
        !std::isfinite(again.summary.median)) {
      throw std::logic_error("a point is another once it was written");
    }
  }
}

}  // namespace dlscale::fuzz
