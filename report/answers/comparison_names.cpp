#include "report/answers/comparison_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <sstream>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::report {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

/// The words of a training's name that others lack: "alexnet, batch 32, 2 ranks, bucketed".
std::string training_name(const std::vector<std::string>& words) {
  std::string network;
  std::string rest;
  const auto add = [&rest](const std::string& text) { rest += (rest.empty() ? "" : ", ") + text; };
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "network") {
      network = value;
    } else if (key == "ranks") {
      add(value + (value == "1" ? " rank" : " ranks"));
    } else if (key == "schedule" || key == "backend") {
      add(value);
    } else if (key != "ranks_on_node") {
      add(value.empty() ? key : key + " " + value);
    }
  }
  return network + (network.empty() || rest.empty() ? "" : ", ") + rest;
}

}  // namespace

SharedWords shared_words(const std::vector<std::string>& names) {
  SharedWords shared;
  for (const std::string& name : names) {
    const std::vector<std::string> words = words_of(name);
    const std::set<std::string> present(words.begin(), words.end());
    const auto [of, is_first] = shared.try_emplace(words.front(), present);
    std::erase_if(of->second, [&](const std::string& word) { return !present.contains(word); });
  }
  // Where there are several benchmarks, each name keeps its own.
  if (shared.size() > 1) {
    for (auto& [benchmark, words] : shared) words.erase(benchmark);
  }
  return shared;
}

namespace {

/// Names without the words that all of their benchmark have; whole names if nothing else is left.
std::map<std::string, std::string> short_names(const std::vector<std::string>& names) {
  const SharedWords shared = shared_words(names);
  std::map<std::string, std::string> result;
  for (const std::string& name : names) {
    std::vector<std::string> words = words_of(name);
    const std::set<std::string>& of_all = shared.at(words.front());
    const bool training = words.front() == "e2e";
    std::erase_if(words, [&](const std::string& word) { return of_all.contains(word); });
    std::string rest = training ? training_name(words) : fmt::format("{}", fmt::join(words, " "));
    result[name] = rest.empty() ? name : std::move(rest);
  }
  return result;
}

}  // namespace

std::string full_name(const Json& row) {
  const auto series = row.at("series").get<std::string>();
  const auto key = row.at("key").get<std::string>();
  if (words_of(key).empty()) throw ConfigError("the \"key\" of a row is empty");
  return series == "time" || series == "t_iter" ? key : key + " " + series;
}

std::vector<std::string> full_names(const Json& answer) {
  std::vector<std::string> names;
  for (const Json& row : answer.at("rows")) names.push_back(full_name(row));
  return names;
}

std::map<std::string, std::string> row_names(const Json& answer) {
  return short_names(full_names(answer));
}

}  // namespace dlscale::report
