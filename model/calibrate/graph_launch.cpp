#include "model/calibrate/graph_launch.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/results/usable_rows.hpp"
#include "model/fits/fit.hpp"

namespace dlscale::model {
namespace {

/// Rows state the time of each kernel. The number of kernels takes the place of bytes.
std::vector<SizedTime> whole_graphs(const Group& group, std::string_view series) {
  std::vector<SizedTime> points;
  for (const auto& [key, same] : group_by(group, {"kernels"})) {
    const auto kernels = static_cast<double>(same.front().integer("kernels"));
    points.push_back({Bytes(kernels), kernels * pool(same, series, Range::positive, Ranks::each)});
  }
  std::ranges::sort(points, {}, &SizedTime::size);
  return points;
}

Estimate<Seconds> of_one(const Estimate<SecondsPerByte>& slope) {
  return {slope.value * Bytes(1), slope.low * Bytes(1), slope.high * Bytes(1)};
}

}  // namespace

bool is_of_graphs(const Measurement& row) {
  const auto operation = row.axes.find("operation");
  return row.benchmark == "device" && operation != row.axes.end() &&
         operation->second == "launch_graph";
}

std::optional<GraphLaunch> fit_graph_launch(std::span<const ResultFile> results,
                                            const std::string& backend) {
  Group group;
  for (const ResultFile& file : results) {
    for (const Measurement& row : file.measurements) {
      if (!is_of_graphs(row) || !is_timed(row)) continue;
      const Sourced one{&row, file.path.string()};
      if (one.axis("backend") == backend) group.push_back(one);
    }
  }
  if (group_by(group, {"kernels"}).size() < 2) return std::nullopt;
  const Segment host = fit_affine(whole_graphs(group, "host_time"));
  const Segment device = fit_affine(whole_graphs(group, "time"));
  return GraphLaunch{host.alpha, of_one(host.beta), device.alpha, source(group)};
}

}  // namespace dlscale::model
