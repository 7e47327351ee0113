#include "recorded_noise.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

namespace dlscale::regression {
namespace {

const std::string folder = DLSCALE_SHARED_DATA "/validation/regression/";

/// The text of a file that gzip packed.
std::string unpacked(const std::string& path) {
  const std::string command = "gzip -dc '" + path + "'";
  const auto close = [](std::FILE* file) { pclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> pipe(popen(command.c_str(), "r"), close);
  std::string text;
  std::array<char, 1 << 16> part;
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe.get())) {
    text.append(part.data(), n);
  }
  return text;
}

std::string_view next_field(std::string_view& line) {
  const std::size_t end = std::min(line.find(','), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

void add(std::string_view line, RecordedNoise& noise) {
  for (int column = 0; column < 4; ++column) next_field(line);
  const std::string kernel(next_field(line));
  const std::string arm(next_field(line));
  next_field(line);
  double least = std::numeric_limits<double>::max();
  while (!line.empty()) least = std::min(least, std::strtod(next_field(line).data(), nullptr));
  noise[kernel + ":" + arm].push_back(least);
}

}  // namespace

RecordedNoise read_recorded_noise() {
  const std::string path = folder + "aa_noisy_shared_cpu/aa_raw.csv.gz";
  if (!std::filesystem::exists(path)) return {};
  const std::string text = unpacked(path);
  std::string_view rest = text;
  RecordedNoise noise;
  bool heading = true;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (!heading && end > 0) add(rest.substr(0, end), noise);
    heading = false;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  // The last round was cut short.
  std::size_t rounds = noise.begin()->second.size();
  for (const auto& [arm, runs] : noise) rounds = std::min(rounds, runs.size());
  for (auto& [arm, runs] : noise) runs.resize(rounds);
  return noise;
}

std::vector<LabelledHistory> read_talos() {
  std::ifstream file(folder + "perfherder_talos_2013/series.csv");
  if (!file) return {};
  std::map<std::string, LabelledHistory> by_name;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::string_view rest = line;
    const std::string name(next_field(rest));
    next_field(rest);
    LabelledHistory& history = by_name[name];
    history.name = name;
    next_field(rest);
    history.values.push_back(std::strtod(next_field(rest).data(), nullptr));
  }
  std::ifstream labels(folder + "perfherder_talos_2013/labels.json");
  const nlohmann::json json = nlohmann::json::parse(labels);
  std::vector<LabelledHistory> all;
  for (auto& [name, history] : by_name) {
    for (const auto& index :
         json.at("labels").at(name).at("change_index_first_point_of_new_level")) {
      history.labels.push_back(index.get<std::size_t>());
    }
    all.push_back(std::move(history));
  }
  return all;
}

}  // namespace dlscale::regression
