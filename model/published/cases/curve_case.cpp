#include "model/published/cases/curve_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "model/published/cases/json_fields.hpp"

namespace dlscale::cases {
namespace {

constexpr WholeRange workers_if_told{0, workers.most};

/// Reads ranks and nodes, one of which may be 0: not stated.
template <class Scaled>
void read_scale(const JsonFields& from, Scaled& read) {
  read.ranks = from.count_if("ranks", workers_if_told).value_or(0);
  read.nodes = from.count_if("nodes", workers_if_told).value_or(0);
  if (read.scale() == 0) {
    from.refuse(from.has("nodes") ? "nodes" : "ranks", "and so neither ranks nor nodes are told");
  }
}

template <class Q>
std::vector<Q> read_list(const JsonFields& from, std::string_view key, RealRange range) {
  std::vector<Q> read;
  for (const double number : from.reals_if(key, range)) read.emplace_back(number);
  if (read.empty()) from.refuse(key, "which holds nothing");
  return read;
}

std::vector<Bytes> read_sizes(const JsonFields& from) {
  std::vector<Bytes> sizes = read_list<Bytes>(from, "bytes", byte_counts);
  if (std::ranges::adjacent_find(sizes, std::greater_equal{}) != sizes.end()) {
    from.refuse("bytes", "which does not ascend");
  }
  return sizes;
}

std::vector<Seconds> read_times(const JsonFields& from, std::size_t sizes) {
  std::vector<Seconds> times = read_list<Seconds>(from, "time_s", seconds);
  if (times.size() != sizes) {
    from.refuse("time_s", fmt::format("of {}, and there are {} sizes", times.size(), sizes));
  }
  return times;
}

GivenCurve read_given_curve(const JsonFields& given) {
  given.expect_spelling({"ranks", "nodes", "bytes", "time_s"});
  GivenCurve read;
  read_scale(given, read);
  read.bytes = read_sizes(given);
  read.times = read_times(given, read.bytes.size());
  return read;
}

CurveCluster read_curve_cluster(const JsonFields& cluster) {
  cluster.expect_spelling({"gpus_per_node", "intra_node", "inter_node"});
  CurveCluster read;
  read.gpu = cluster.text_if("gpu");
  read.gpus_per_node = cluster.count_if("gpus_per_node", workers_if_told).value_or(0);
  if (const auto link = cluster.object_if("intra_node")) read.intra_node = read_link(*link);
  if (const auto link = cluster.object_if("inter_node")) read.inter_node = read_link(*link);
  return read;
}

}  // namespace

CurveCase read_curve_case(const JsonFields& line) {
  line.expect_spelling({"schema", "id", "set", "task", "collective", "library", "buffer", "ranks",
                        "nodes", "cluster", "given", "query", "measured", "noise", "quality",
                        "weight", "source", "licence", "assumed"});
  CurveCase read;
  read.id = line.text("id");
  read.set = line.text("set");
  expect_own_set(line);
  read.task = parse_task(line.text("task"), line.where("task"));
  read.collective = line.text("collective");
  read.library = line.text("library");
  read.buffer = parse_buffer(line.text("buffer"), line.where("buffer"));
  read_scale(line, read);
  read.cluster = read_curve_cluster(line.object("cluster"));
  for (const JsonFields& given : line.objects("given", 1000)) {
    read.given.push_back(read_given_curve(given));
  }
  read.query = read_sizes(line.object("query"));
  read.source = line.text_if("source");
  read.licence = line.text_if("licence");
  read.assumed = line.texts_if("assumed");
  return read;
}

Outcome read_curve_outcome(const JsonFields& line) {
  Outcome read = read_outcome(line);
  const auto measured = line.object_if("measured");
  if (!measured) return read;
  Measured told;
  told.unit = CaseUnit::time_s;
  const std::size_t asked = read_sizes(line.object("query")).size();
  for (const Seconds time : read_times(*measured, asked)) told.values.push_back(time.si());
  told.noise = line.reals_if("noise", fractions);
  if (!told.noise.empty() && told.noise.size() != asked) {
    line.refuse("noise", fmt::format("of {}, and {} sizes are asked", told.noise.size(), asked));
  }
  read.measured = told;
  return read;
}

}  // namespace dlscale::cases
