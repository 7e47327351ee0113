#include "logs.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "tests/regression/history/histories.hpp"

namespace dlscale::regression::history::logs {

ImportedRun read_log(std::string_view text, RunOptions options) {
  const samples::TemporaryFolder folder;
  samples::write_text(folder / "run", text);
  options.commit = "c1";
  options.time = 1'700'000'000;
  return read_run((folder / "run").string(), options);
}

std::string log_refusal(std::string_view text, const RunOptions& options) {
  try {
    (void)read_log(text, options);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

std::string replaced(std::string_view text, std::string_view old, std::string_view by) {
  std::string out(text);
  const std::size_t at = out.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? out : out.replace(at, old.size(), by);
}

std::string each_line(std::string_view text,
                      const std::function<std::string(std::string_view)>& change) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += change(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

const KeyedPoint* point_of(const ImportedRun& run, std::string_view metric, const Facts& axes) {
  for (const KeyedPoint& point : run.points) {
    const bool same =
        point.key.metric == metric && std::ranges::all_of(axes, [&](const auto& axis) {
          const auto found = point.key.axes.find(axis.first);
          return found != point.key.axes.end() && found->second == axis.second;
        });
    if (same) return &point;
  }
  return nullptr;
}

std::string all_notes(const ImportedRun& run) {
  std::string notes;
  for (const std::string& note : run.notes) notes += note + "\n";
  return notes;
}

const std::string_view nccl =
    R"(# nccl-tests version 2.18.3 nccl-headers=23003 nccl-library=23003
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid    653 on node-a device  0 [0000:06:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid    654 on node-b device  0 [0000:09:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    20.00    0.00    0.00       0    25.00    0.00    0.00       0
        1024           256     float     sum      -1    45.80    0.02    0.02       0    43.80    0.02    0.03       7
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 30.0
)";

std::string right_nccl() {
  return replaced(nccl, "0.03       7", "0.03       0");
}

}  // namespace dlscale::regression::history::logs
