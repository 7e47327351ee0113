// Published times of all-reduces, read where the folder with reference tables is present.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model/calibrate/fit.hpp"

namespace dlscale::model {
namespace {

/// A curve of one node of DeepBench's servers, by the name of the server and the number of GPUs.
using Curves = std::map<std::pair<std::string, int>, std::map<double, double>>;

void add(Curves& curves, const std::string& server, const nlohmann::json& layout,
         const nlohmann::json& bytes, const nlohmann::json& times) {
  if (layout.at("nodes") != 1) return;
  auto& curve = curves[{server, layout.at("ranks").get<int>()}];
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    curve[bytes[i].get<double>()] = times[i].get<double>();
  }
}

Curves read_deepbench(const std::filesystem::path& path) {
  Curves curves;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto published = nlohmann::json::parse(line);
    if (published.at("set") != "deepbench_allreduce") continue;
    const auto id = published.at("id").get<std::string>();
    const std::string server = id.substr(0, id.rfind("-r"));
    add(curves, server, published, published.at("query").at("bytes"),
        published.at("measured").at("time_s"));
    for (const auto& given : published.at("given")) {
      add(curves, server, given, given.at("bytes"), given.at("time_s"));
    }
  }
  return curves;
}

double mean_error_of_line(const std::map<double, double>& curve) {
  std::vector<SizedTime> points;
  for (const auto& [bytes, seconds] : curve) {
    points.push_back({Bytes(bytes), Estimate<Seconds>::exact(Seconds(seconds))});
  }
  const Segment line = fit_affine(points);
  double sum = 0;
  for (const SizedTime& point : points) {
    const Seconds fitted = line.alpha.value + point.size * line.beta.value;
    sum += std::abs(fitted / point.time.value - 1);
  }
  return sum / static_cast<double>(points.size());
}

TEST(PublishedMessages, OfOneNodeOfDeepBenchLieOnALine) {
  const std::filesystem::path path =
      std::filesystem::path(DLSCALE_SHARED_DATA) / "validation/open_allreduce.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no reference tables at " << path;
  const Curves curves = read_deepbench(path);
  ASSERT_EQ(curves.size(), 12U);  // 2, 4 and 8 GPUs of four servers
  for (const auto& [key, curve] : curves) {
    ASSERT_EQ(curve.size(), 7U);
    EXPECT_LE(mean_error_of_line(curve), 0.05) << key.first << " on " << key.second;
  }
}

}  // namespace
}  // namespace dlscale::model
