// Checks made-up histories night by night: alerts a change, their delay and place, false ones, and
// those that go without a reason. No test. The figures are in results/published/regression.
//
//   dlscale_walk_forward [HISTORIES]   of each kind, 24 without a number
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "regression/check/series_judge.hpp"
#include "tests/regression/gate/noise_models.hpp"

namespace dlscale::regression::history {
namespace {

struct Noises {
  double deviation = 0.013;
  double correlation = 0;  ///< of neighbours
  double outliers = 0;     ///< share of points slower by 10 % and more
  double high = 0;         ///< share of points slower by 5 %
};

/// Steps of the level: the first commit, and the fraction by which it is slower.
using Steps = std::vector<std::pair<std::size_t, double>>;

struct Kind {
  std::string name;
  Noises noise;
  std::size_t nights = 150;
  std::function<Steps(Draws&)> steps;
  std::size_t ramp = 1;  ///< nights that a step takes
};

Steps none(Draws&) {
  return {};
}

std::function<Steps(Draws&)> one_step(double size) {
  return [size](Draws& draws) { return Steps{{60 + draws.below(40), size}}; };
}

Steps step_after_a_bump(Draws& draws) {
  const std::size_t back = 55 + draws.below(15);
  return {{25, 0.069}, {back, 1 / 1.069 - 1}, {105 + draws.below(15), 0.087}};
}

std::function<Steps(Draws&)> steps_apart(std::size_t count, std::size_t apart, double size) {
  return [=](Draws& draws) {
    Steps steps{{50 + draws.below(40), size}};
    while (steps.size() < count) steps.emplace_back(steps.back().first + apart, size);
    return steps;
  };
}

std::function<Steps(Draws&)> step_at(std::size_t place, double size) {
  return [=](Draws&) { return Steps{{place, size}}; };
}

/// Steps near each other, and changes that take many nights.
void add_slow(std::vector<Kind>& all) {
  for (const double rho : {0.0, 0.4}) {
    const Noises noise{.correlation = rho};
    const std::string text = fmt::format(" (1.3 %, ρ {})", rho);
    for (const std::size_t apart : {6U, 12U, 25U}) {
      for (const double size : {0.04, 0.08}) {
        all.push_back({fmt::format("two of +{:.0f} %, {} apart{}", 100 * size, apart, text), noise,
                       150, steps_apart(2, apart, size)});
      }
    }
    all.push_back({"three of +5 %, 12 apart" + text, noise, 150, steps_apart(3, 12, 0.05)});
    all.push_back({"drift of +5 % in 30" + text, noise, 150, one_step(0.05), 30});
    all.push_back({"drift of +10 % in 40" + text, noise, 150, one_step(0.1), 40});
    all.push_back({"drift of +20 % in 50" + text, noise, 150, one_step(0.2), 50});
    all.push_back({"drift of -20 % in 50" + text, noise, 150, one_step(-0.2), 50});
    const Noises quiet{.deviation = 0.004, .correlation = rho};
    const std::string low = fmt::format(" (0.4 %, ρ {})", rho);
    all.push_back({"drift of +16 % in 40, from the first" + low, quiet, 40, step_at(0, 0.16), 40});
    all.push_back({"drift of +12 % in 60, from the first" + low, quiet, 60, step_at(0, 0.12), 60});
    all.push_back({"drift of +16 % in 40" + low, quiet, 150, step_at(60, 0.16), 40});
    all.push_back({"drift of +10 % in 90" + low, quiet, 150, step_at(60, 0.1), 90});
  }
}

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (const double rho : {0.0, 0.4, 0.6}) {
    const Noises noise{.correlation = rho};
    const std::string text = fmt::format(" (1.3 %, ρ {})", rho);
    all.push_back({"none" + text, noise, 150, none});
    for (const double size : {0.03, 0.05, 0.08}) {
      all.push_back({fmt::format("+{:.0f} %{}", 100 * size, text), noise, 150, one_step(size)});
    }
    all.push_back({"+8.7 % after a bump" + text, noise, 150, step_after_a_bump});
  }
  all.push_back({"none (2.66 %)", {.deviation = 0.0266}, 150, none});
  all.push_back({"none (1 %, ρ 0.8)", {.deviation = 0.01, .correlation = 0.8}, 150, none});
  all.push_back({"none (1 %, 5 % spikes)", {.deviation = 0.01, .outliers = 0.05}, 150, none});
  all.push_back({"none (1 %, 20 % at +5 %)", {.deviation = 0.01, .high = 0.2}, 150, none});
  all.push_back(
      {"+10 % (1 %, 5 % spikes)", {.deviation = 0.01, .outliers = 0.05}, 150, one_step(0.1)});
  all.push_back({"+10 % for 210 nights (0.3 %)", {.deviation = 0.003}, 230, [](Draws&) {
                   return Steps{{20, 0.1}};
                 }});
  add_slow(all);
  return all;
}

std::vector<CommitPoint> draw(const Kind& kind, const Steps& steps, Draws& draws) {
  const double rho = kind.noise.correlation;
  std::vector<CommitPoint> commits;
  double deviation = draws.normal();
  for (std::size_t night = 0; night < kind.nights; ++night) {
    deviation = rho * deviation + std::sqrt(1 - rho * rho) * draws.normal();
    double value = std::exp(kind.noise.deviation * deviation);
    if (draws.uniform() < kind.noise.outliers) value *= 1.1 - 0.2 * std::log(1 - draws.uniform());
    if (draws.uniform() < kind.noise.high) value *= 1.05;
    for (const auto& [first, size] : steps) {
      if (night < first) continue;
      const auto nights = static_cast<double>(night - first + 1);
      value *= 1 + size * std::min(1.0, nights / static_cast<double>(kind.ramp));
    }
    commits.push_back({.commit = fmt::format("{}", night),
                       .time = 86400 * static_cast<std::int64_t>(night),
                       .runs = {value},
                       .value = value,
                       .run = "run"});
  }
  return commits;
}

struct Score {
  std::size_t changes = 0;
  std::size_t near = 0;    ///< changes with an alert within 3 commits of their place
  std::size_t alerts = 0;  ///< of changes
  std::size_t others = 0;  ///< alerts of no change
  std::size_t nights = 0;
  std::size_t gone = 0;  ///< alerts that a later night does not list
  std::vector<std::size_t> delays;
};

/// The first night of each alert, by the place of its commit.
std::map<std::size_t, std::size_t> walk(const std::vector<CommitPoint>& commits, Score& score) {
  SeriesKey key;
  key.metric = "time";
  const Annotations annotations{std::span<const Annotation>()};
  std::map<std::size_t, std::size_t> first;
  std::set<std::size_t> before;
  for (std::size_t night = 0; night < commits.size(); ++night) {
    std::set<std::size_t> now;
    const auto until = std::span(commits).first(night + 1);
    for (const Change& change : judge_series(key, until, annotations, {}).changes) {
      now.insert(std::stoul(change.commit));
      first.try_emplace(std::stoul(change.commit), night);
    }
    for (const std::size_t place : before) score.gone += now.contains(place) ? 0 : 1;
    before = std::move(now);
  }
  return first;
}

void take(const std::vector<CommitPoint>& commits, const Steps& steps, std::size_t ramp,
          Score& score) {
  std::map<std::size_t, std::size_t> alerts = walk(commits, score);
  score.nights += commits.size();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::size_t at = steps[i].first;
    const std::size_t end = i + 1 < steps.size() ? steps[i + 1].first - 3 : commits.size();
    bool near = false;
    std::size_t delay = commits.size();
    for (auto alert = alerts.begin(); alert != alerts.end();) {
      const auto [place, night] = *alert;
      if (place + 10 < at || place >= end || night < at) {
        ++alert;
        continue;
      }
      near = near || (place + 3 >= at && place < at + 3 + ramp);
      delay = std::min(delay, night - at);
      ++score.alerts;
      alert = alerts.erase(alert);
    }
    ++score.changes;
    score.near += near ? 1 : 0;
    score.delays.push_back(delay);
  }
  score.others += alerts.size();
}

void print(const Kind& kind, Score score) {
  std::ranges::sort(score.delays);
  const auto quantile = [&](std::size_t tenths) {
    return score.delays.empty() ? ""
                                : std::to_string(score.delays[score.delays.size() * tenths / 10]);
  };
  const std::string each = score.changes == 0
                               ? ""
                               : fmt::format("{:.2f}", static_cast<double>(score.alerts) /
                                                           static_cast<double>(score.changes));
  const std::string near =
      score.changes == 0 ? "" : fmt::format("{} of {}", score.near, score.changes);
  fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", kind.name, near, each, quantile(5),
             quantile(9), fmt::format("{} in {}", score.others, score.nights), score.gone);
}

}  // namespace
}  // namespace dlscale::regression::history

int main(int count, char** words) {
  using namespace dlscale::regression;
  const unsigned long histories = count > 1 ? std::stoul(words[1]) : 24;
  fmt::print(
      "| change (noise) | within 3 commits | alerts a change | nights late: median | 90 % | false "
      "alerts | gone |\n|---|---|---|---|---|---|---|\n");
  for (const history::Kind& kind : history::kinds()) {
    Draws draws(20261129);
    history::Score score;
    for (unsigned long i = 0; i < histories; ++i) {
      const history::Steps steps = kind.steps(draws);
      history::take(history::draw(kind, steps, draws), steps, kind.ramp, score);
    }
    history::print(kind, score);
  }
}
