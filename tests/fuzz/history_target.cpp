#include "tests/fuzz/targets.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/fnv1a.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "regression/history/run.hpp"
#include "regression/rounds/run_values.hpp"
#include "tests/fuzz/row_counts.hpp"

namespace dlscale::fuzz {

namespace history = regression::history;
namespace fs = std::filesystem;

namespace {

bool same(const Summary& a, const Summary& b) {
  return a.median == b.median && a.mad == b.mad && a.ci95_low == b.ci95_low &&
         a.ci95_high == b.ci95_high && a.min == b.min && a.max == b.max && a.n == b.n;
}

void expect_same_again(const history::KeyedPoint& keyed) {
  if (!(history::parse_series_key(keyed.key.text()).id() == keyed.key.id())) {
    throw std::logic_error("a key is another once it was written");
  }
  const std::string line = history::point_line(keyed.point);
  const history::Point again = history::parse_point({line.data(), line.size() - 1});
  if (!same(again.summary, keyed.point.summary) || again.time != keyed.point.time ||
      again.part != keyed.point.part || !std::isfinite(again.summary.median)) {
    throw std::logic_error("a point is another once it was written");
  }
}

/// A point that a history can read again.
void expect_measured(const history::KeyedPoint& keyed) {
  const Summary& summary = keyed.point.summary;
  for (const double value : {summary.median, summary.min, summary.max}) {
    const history::Values values = history::values_of(keyed.key);
    const bool is_possible = values == history::Values::any || value > 0 ||
                             (values == history::Values::from_0 && value == 0);
    if (std::isfinite(value) && is_possible) continue;
    throw std::logic_error(fmt::format("{} is {}", escape_for_terminal(keyed.key.metric), value));
  }
}

/// All that a history takes of a run.
std::string written(const history::ImportedRun& run) {
  std::string text = fmt::format("{} {}\n", run.commit, run.time);
  for (const history::KeyedPoint& keyed : run.points) {
    text += keyed.key.text() + '\n' + history::point_line(keyed.point);
  }
  for (const std::string& note : run.notes) text += note + '\n';
  return text;
}

/// As the gate reads what a command wrote.
void use_in_gate(const fs::path& file) {
  try {
    const auto outcome = regression::read_run(file, regression::Measure::google, Seconds(1));
    for (const regression::RunValue& value : outcome.values) {
      if (std::isfinite(value.value) && value.value > 0 && value.samples > 0) continue;
      throw std::logic_error(fmt::format("the gate compares {}", value.value));
    }
  } catch (const Error& error) {
    if (!is_plain_line(error.what())) throw std::logic_error(escape_for_terminal(error.what()));
  }
}

}  // namespace

std::vector<std::string> google_seeds() {
  return {
      R"({"context": {"date": "2026-01-31T12:00:00+01:00", "executable": "/a/bench", "num_cpus": 2,
 "caches": [{"type": "Data", "level": 1, "size": 32768}], "library_build_type": "release"},
 "benchmarks": [
 {"name": "A/8", "run_name": "A/8", "run_type": "iteration", "repetition_index": 0, "real_time": 3.0,
  "cpu_time": 2.0, "time_unit": "us", "bytes_per_second": 5e9, "counter": NaN, "label": "-NaN"},
 {"name": "B_median", "run_name": "B", "run_type": "aggregate", "aggregate_name": "median",
  "real_time": 4.0, "cpu_time": 4.0, "time_unit": "ms"}]})",
      R"({"context":{"date":"2024-05-01T10:11:12+02:00","host_name":"h","mhz_per_cpu":2400,"load_avg":[1,2],
"cpu_scaling_enabled":false},"benchmarks":[{"name":"C/manual_time","iterations":10,"real_time":1e3,
"cpu_time":0,"time_unit":"ns","items_per_second":7},{"name":"D","run_name":"D","run_type":"iteration",
"error_occurred":true,"error_message":"no\tfile"},{"name":"E","skipped":true,"skip_message":"s"}]})"};
}

std::vector<std::string> nccl_seeds() {
  return {
      R"(# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#  Rank  0 Group  0 Pid    653 on a device  0 [0000:06:00] NVIDIA H100
#  Rank  1 Group  0 Pid    654 on b device  0 [0000:09:00] NVIDIA H100
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
           8             2     float     sum      -1    20.00    0.00    0.00       0    25.00    0.00    0.00       0
        1024           256     float     sum      -1    45.80    0.02    0.02       0    43.80    0.02    0.03       7
)",
      "0: # nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 "
      "validation: 1\n"
      "0: #                                                     out-of-place                 "
      "      in-place\n"
      "0: #       size         count    type   redop     time   algbw   busbw  error     time   "
      "algbw   busbw  error\n"
      "0: #        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  "
      "(GB/s)  (GB/s)\n"
      "0:            8             2   float     sum    12.12    0.00    0.00  0e+00    12.34    "
      "0.00    0.00  0e+00\n"
      "0: # Out of bounds values : 0 OK\n0: # Avg bus bandwidth    : 0.5\n",
      R"({"version":1,"nccl_version":"2.27.3","args":["./all_reduce_perf","-J","a.json"],
"config":{"nthreads":1,"ngpus":2,"minimum_bytes":8,"maximum_bytes":1024,"aggregated_iterations":1,
"graph":0,"blocking_collectives":false,"devices":[{"rank":0,"pid":7,"hostname":"a","device":0,
"device_hex":"0x06","device_info":"NVIDIA H100"}]},"results":[{"size":1024,"count":256,"type":"float",
"redop":"sum","root":"-1","out_of_place":{"time":45.8,"alg_bw":0.022358,"bus_bw":0.022358,"nwrong":0},
"in_place":{"time":43.8,"alg_bw":0.023379,"bus_bw":0.023379,"nwrong":7}}],
"out_of_bounds":{"count":0,"okay":true}})"};
}

std::vector<std::string> osu_seeds() {
  return {
      "# OSU MPI-CUDA Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n"
      "1                       1.66\n2                       1.62\n1048576    812.35\n",
      "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1   2.51\n2   5.02\n",
      "[1,0]<stdout>: # OSU MPI Allgather Latency Test v7.5\n"
      "[1,0]<stdout>: # Datatype: MPI_CHAR.\n"
      "[1,0]<stdout>: # Size   Avg Latency(us)   Min Latency(us)   Max Latency(us)  Validation\n"
      "[1,0]<stdout>: 1   9.16   8.60   9.85   Pass\n"
      "[1,0]<stdout>: 2   9.20   8.61   9.90   Fail\n",
      // A lost line break joined two rows, and other programs print their tables.
      "# OSU MPI Allreduce Latency Test v7.3\n# Size  Avg Latency(us)\n8   2.6916   2.82\n32   "
      "2.90\n"
      "# nThread 1 nGpus 1 iters: 20 validation: 1\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
      "time  "
      " algbw   busbw  #wrong\n"
      "        1024           256     float     sum      -1    45.80    0.02    0.02       0    "
      "43.80  "
      "  0.02    0.02       0\n"
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 65536      5000             11024.1            11023.6            0.17\n"
      "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n1   2.51\n"};
}

std::vector<std::string> hyperfine_seeds() {
  return {R"({"results": [{"command": "train", "times": [1.0, 2.0], "exit_codes": [0, 0],
 "parameters": {"threads": "4"}}]})",
          R"({"results":[{"command":"a","mean":1.5,"stddev":null,"median":1.5,"user":1,"system":0,
"min":1,"max":2,"times":[1.5],"memory_usage_byte":[1024],"exit_codes":[0]}]})"};
}

std::vector<std::string> mllog_seeds() {
  return {
      ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1700000000000, \"event_type\": "
      "\"POINT_IN_TIME\", "
      "\"key\": \"submission_benchmark\", \"value\": \"resnet\", \"metadata\": {\"file\": "
      "\"a.py\", "
      "\"lineno\": 1}}\n"
      ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1700000001000, \"event_type\": "
      "\"INTERVAL_START\", \"key\": \"run_start\", \"value\": null, \"metadata\": {}}\n"
      "noise\n"
      ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1700000101000, \"event_type\": "
      "\"INTERVAL_END\", \"key\": \"run_stop\", \"value\": null, \"metadata\": {\"status\": "
      "\"success\"}}\n"};
}

std::vector<std::string> validation_seeds() {
  return {R"({"schema": "dlscale.validation", "version": 1, "runs": [{"key": "e2e", "links": null,
 "run": {"network": "alexnet", "ranks": 2, "credit": null}, "backend": "onednn", "errors": [-0.1],
 "phases": [{"phase": "t_iter", "predicted_s": 1.02, "measured_s": 1.0}]}]})"};
}

void use_history(const fs::path& file) {
  use_in_gate(file);
  history::RunOptions options;
  options.commit = "c1";
  options.time = 0;
  options.axes = {{"collective", "all_reduce"}};
  const history::ImportedRun run = history::read_run(file.string(), options);
  for (const history::KeyedPoint& keyed : run.points) {
    expect_same_again(keyed);
    expect_measured(keyed);
  }
  expect_each_row_told(run);
  const bool is_repeated = fnv1a(run.content) % 8 == 0;  // as it takes as long as the rest
  if (is_repeated && written(run) != written(history::read_run(file.string(), options))) {
    throw std::logic_error("the same file gives another answer");
  }
  for (const std::string& note : run.notes) {
    if (note.empty() || !is_plain_line(note)) {
      throw std::logic_error("a note is not one plain line: " + escape_for_terminal(note));
    }
  }
}

}  // namespace dlscale::fuzz
