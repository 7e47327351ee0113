#include "report/comparison/row_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "report/results/axes.hpp"

namespace dlscale::report {

RowWords::RowWords(std::span<const Comparison> rows) {
  std::map<std::string, std::vector<Axes>> axes;
  std::vector<Axes> all;
  for (const Comparison& row : rows) {
    axes[row.benchmark].push_back(row.axes);
    all.push_back(row.axes);
  }
  if (all.empty()) return;
  common_ = constant_axes(all);
  const std::vector<std::string> varying_in_all = varying_axes(all);
  for (auto& [benchmark, own] : axes) {
    OfBenchmark& words = benchmarks_[benchmark];
    words.varying = varying_axes(own);
    for (Axes& each : own) {
      std::erase_if(each, [&](const auto& axis) {
        return std::ranges::find(varying_in_all, axis.first) == varying_in_all.end();
      });
    }
    words.constant = constant_axes(own);
  }
}

std::string RowWords::name(const Comparison& row) const {
  std::string name = row.benchmark;
  const auto found = benchmarks_.find(row.benchmark);
  EXPECT(found != benchmarks_.end());
  for (const std::string& axis : found->second.varying) {
    const std::string value = axis_or_empty(row.axes, axis);
    if (value.empty()) continue;
    name += fmt::format("{}{}={}", name == row.benchmark ? " " : ", ", axis, value);
  }
  return name;
}

std::vector<std::string> RowWords::own() const {
  std::vector<std::string> lines;
  for (const auto& [benchmark, words] : benchmarks_) {
    if (!words.constant.empty()) lines.push_back(fmt::format("{}: {}", benchmark, words.constant));
  }
  return lines;
}

std::string side_name(const std::string& letter, const std::string& name) {
  return name == letter ? letter : fmt::format("{} ({})", letter, name);
}

std::string different_environments(const std::vector<std::string>& facts) {
  EXPECT(!facts.empty());
  return fmt::format("different environments ({}{})", facts.front(),
                     facts.size() == 1 ? "" : fmt::format(" and {} more", facts.size() - 1));
}

void say_once(Table& table, const std::string& heading, const std::string& of) {
  const auto column = std::ranges::find(table.columns, heading, &Column::heading);
  if (column == table.columns.end() || table.rows.empty()) return;
  constexpr std::size_t most_explained = 12;
  const auto at = column - table.columns.begin();
  std::vector<std::string> texts;
  for (std::vector<Cell>& row : table.rows) {
    std::string& text = row[static_cast<std::size_t>(at)].text;
    auto known = std::ranges::find(texts, text);
    if (known == texts.end()) known = texts.insert(texts.end(), text);
    text = std::to_string(known - texts.begin() + 1);
  }
  if (texts.size() == 1 || texts.size() > most_explained) {
    table.columns.erase(column);
    for (std::vector<Cell>& row : table.rows) row.erase(row.begin() + at);
    table.notes.push_back(
        texts.size() == 1
            ? fmt::format("{} {}", of, texts.front())
            : fmt::format("{} {} different sources, which the formats csv and json name row by row",
                          of, texts.size()));
    return;
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    table.notes.push_back(fmt::format("{} {}: {}", heading, i + 1, texts[i]));
  }
}

}  // namespace dlscale::report
