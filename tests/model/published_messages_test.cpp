// Published times of all-reduces, read where the folder with reference tables is present.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "core/statistics.hpp"
#include "model/calibrate/fit.hpp"
#include "model/communication/fit_algorithm.hpp"

namespace dlscale::model {
namespace {

/// Times by size, by the name of a server of DeepBench, its nodes, and ranks.
using Curves = std::map<std::tuple<std::string, int, int>, std::map<double, double>>;

void add(Curves& curves, const std::string& server, const nlohmann::json& layout,
         const nlohmann::json& bytes, const nlohmann::json& times) {
  auto& curve = curves[{server, layout.at("nodes").get<int>(), layout.at("ranks").get<int>()}];
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

class PublishedMessages : public testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path path =
        std::filesystem::path(DLSCALE_SHARED_DATA) / "validation/open_allreduce.jsonl";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no reference tables at " << path;
    curves_ = read_deepbench(path);
  }
  Curves curves_;
};

TEST_F(PublishedMessages, OfOneNodeOfDeepBenchLieOnALine) {
  int lines = 0;
  for (const auto& [key, curve] : curves_) {
    const auto& [server, nodes, ranks] = key;
    if (nodes > 1) continue;
    ++lines;
    ASSERT_EQ(curve.size(), 7U);
    EXPECT_LE(mean_error_of_line(curve), 0.05) << server << " on " << ranks;
  }
  EXPECT_EQ(lines, 12);  // 2, 4 and 8 GPUs of four servers
}

/// A family is chosen by how it does on 16 ranks when fitted to 2, 4 and 8; it is asked for 32.
TEST_F(PublishedMessages, OfTheXeonPhiAreForeseenOnTwiceTheRanks) {
  MessageFamily family;
  family.collective = "all_reduce";
  family.library = "Intel MLSL";
  std::map<double, double> asked;
  for (const auto& [key, curve] : curves_) {
    const auto& [server, nodes, ranks] = key;
    if (server != "deepbench_allreduce/ia-knl7250") continue;
    if (ranks == 32) asked = curve;
    for (const auto& [bytes, seconds] : curve) {
      if (ranks == 32) continue;
      family.samples.push_back(
          {{ranks, 1}, Bytes(bytes), Estimate<Seconds>::exact(Seconds(seconds))});
    }
  }
  const auto fit = fit_algorithm(family);
  ASSERT_TRUE(fit);
  ASSERT_EQ(asked.size(), 7U);
  std::vector<double> errors;
  for (const auto& [bytes, seconds] : asked) {
    const auto prediction = predict_message(*fit, {32, 1}, Bytes(bytes));
    ASSERT_TRUE(prediction);
    errors.push_back(std::abs(prediction->time.value.si() / seconds - 1));
  }
  EXPECT_LT(median(errors), 0.10) << fit->carrier.name();
}

}  // namespace
}  // namespace dlscale::model
