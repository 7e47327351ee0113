// How often gates decide, and how often they are wrong, at a margin of 1 % and at --margin auto:
//
//   dlscale_margin_study [GATES]   prints a table of so many gates a row (200)
#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "studies.hpp"

namespace dlscale::regression {
namespace {

constexpr std::size_t rounds = 40;
constexpr double changes[] = {0, 0.01, 0.02, 0.05};

using Source = std::function<std::vector<double>(Draws&)>;

void print_row(const std::string& noise, double change, GateRule::Margin margin_from,
               const Source& source, int gates) {
  Draws draws(20261129);
  MarginRates rates;
  for (int i = 0; i < gates; ++i) add_gate(source(draws), change, margin_from, rates);
  const auto share = [&rates](int count) { return 100.0 * count / rates.gates; };
  fmt::print("| {} | {:g} % | {} | {:.1f} % | {:.1f} | {:.1f} | {:.1f} | {} | {} | {:.0f} |\n",
             noise, change * 100, margin_from == GateRule::Margin::given ? "1 %" : "auto",
             rates.margin * 100, share(rates.not_regressed), share(rates.regressed),
             share(rates.inconclusive()), rates.false_not_regressed, rates.false_regressed,
             rates.rounds);
}

/// A planted change of exactly the margin that the noise of the same rounds chose.
void print_at_margin(const std::string& noise, const Source& source, int gates) {
  Draws draws(20261130);
  int cleared = 0;
  for (int i = 0; i < gates; ++i) {
    const Verdict verdict = verdict_at_margin(source(draws));
    cleared += verdict == Verdict::not_regressed || verdict == Verdict::improved ? 1 : 0;
  }
  fmt::print("| {} | {:.1f} |\n", noise, 100.0 * cleared / gates);
}

std::vector<std::pair<std::string, Source>> sources(const RecordedNoise& recording) {
  const auto drawn = [](RoundNoise noise) {
    return [noise](Draws& draws) { return draw_rounds(noise, rounds, draws); };
  };
  std::vector<std::pair<std::string, Source>> all{
      {"normal, 3 %", drawn(RoundNoise::normal_3)},
      {"normal, 1 %", drawn(RoundNoise::normal_1)},
      {"bimodal, half of the runs + 5 %", drawn(RoundNoise::two_levels)},
      {"bimodal, a fifth + 5 %", drawn(RoundNoise::rare_level)},
      {"correlated in time, 3 %", drawn(RoundNoise::drifting)}};
  for (const char* kernel : {"gemm", "triad"}) {
    if (!recording.contains(kernel + std::string(":A2"))) continue;
    all.emplace_back(fmt::format("recorded, {}", kernel), [&recording, kernel](Draws& draws) {
      return draw_rounds(recording, kernel, rounds, draws);
    });
  }
  return all;
}

}  // namespace
}  // namespace dlscale::regression

int main(int argc, char** argv) {
  using namespace dlscale::regression;
  const int gates = argc > 1 ? std::atoi(argv[1]) : 200;
  const RecordedNoise recording = read_recorded_noise();
  const auto all = sources(recording);
  fmt::print(
      "| noise | planted | margin | mean | not regressed, % | regressed, % | inconclusive, % | "
      "false not regressed | false regressed | rounds |\n"
      "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const auto& [name, source] : all) {
    for (const double change : changes) {
      for (const auto from : {GateRule::Margin::given, GateRule::Margin::of_noise}) {
        print_row(name, change, from, source, gates);
      }
    }
  }
  fmt::print("\n| noise | called not regressed, % |\n|---|---:|\n");
  for (const auto& [name, source] : all) print_at_margin(name, source, 5 * gates);
}
