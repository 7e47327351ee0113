// dlscale_regression_study: the tables of results/published/regression/README.md, from the
// recording of real noise, from synthetic histories and from labelled ones. Built only when asked
// for.
#include <fmt/format.h>

#include <cmath>

#include "studies.hpp"

namespace dlscale::regression {
namespace {

constexpr std::size_t draws = 1500;
const std::vector<std::string> gemm_arms{"gemm:A2", "gemm:B1", "gemm:B2", "gemm:B5", "gemm:B10"};
const std::vector<std::string> triad_arms{"triad:A2", "triad:B2", "triad:B5", "triad:B10"};

void print_one_look(const RecordedNoise& noise) {
  fmt::print("\n## One look, α = .05: share called regressed ({} draws)\n\n", draws);
  fmt::print("| rounds | margin | statistic | method | 0 % | +1 % | +2 % | +5 % | +10 % |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|\n");
  for (const int rounds : {10, 20}) {
    for (const double margin : {0.0, 0.01, 0.02}) {
      for (const RunStatistic statistic : {RunStatistic::minimum, RunStatistic::median}) {
        for (const auto method : {GateRule::Method::signed_rank, GateRule::Method::sign_test}) {
          fmt::print("| {} | {:.0f} % | {} | {} |", rounds, margin * 100,
                     run_statistic_name(statistic),
                     method == GateRule::Method::signed_rank ? "signed rank" : "sign test");
          for (const std::string& arm : gemm_arms) {
            const GateRates rates =
                gate_rates(noise, arm, one_look(rounds, margin, method), draws, statistic);
            fmt::print(" {:.3f} |", rates.regressed);
          }
          fmt::print("\n");
        }
      }
    }
  }
}

void print_sequential(const RecordedNoise& noise) {
  fmt::print("\n## Looks after 10, 20, 40 rounds ({} draws, minima)\n\n", draws);
  fmt::print(
      "| margin | arm | method | regressed | not regressed | improved | inconclusive | "
      "mean rounds |\n|---|---|---|---|---|---|---|---|\n");
  for (const double margin : {0.01, 0.02}) {
    for (const auto& arms : {gemm_arms, triad_arms}) {
      for (const std::string& arm : arms) {
        for (const auto method : {GateRule::Method::by_rounds, GateRule::Method::signed_rank}) {
          const GateRule rule{.margin = margin, .method = method};
          const GateRates rates = gate_rates(noise, arm, rule, draws);
          fmt::print("| {:.0f} % | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.1f} |\n",
                     margin * 100, arm,
                     method == GateRule::Method::by_rounds ? "by rounds" : "signed rank",
                     rates.regressed, rates.not_regressed, rates.improved, rates.inconclusive,
                     rates.mean_rounds);
        }
      }
    }
  }
}

void print_broken(const RecordedNoise& noise) {
  fmt::print(
      "\n## What goes wrong without the parts of the rule (10 rounds, signed rank, identical "
      "programs)\n\n| change | share called regressed |\n|---|---|\n");
  const GateRule whole = one_look(10, 0.01, GateRule::Method::signed_rank);
  const GateRule bare = one_look(10, 0.0, GateRule::Method::signed_rank);
  const auto rate = [&noise](const GateRule& rule, Pairing pairing) {
    return gate_rates(noise, "gemm:A2", rule, draws, RunStatistic::minimum, pairing).regressed;
  };
  fmt::print("| none | {:.3f} |\n", rate(whole, Pairing::of_rounds));
  fmt::print("| no margin | {:.3f} |\n", rate(bare, Pairing::of_rounds));
  fmt::print("| runs of other rounds paired | {:.3f} |\n", rate(whole, Pairing::broken));
  fmt::print("| repetitions of one process as rounds | {:.3f} |\n",
             rate(whole, Pairing::within_process));
}

void print_changes() {
  fmt::print(
      "\n## Change points: share of 400 series without a change that have one\n\n"
      "| noise | β = 2 | β = 3 |\n|---|---|---|\n");
  for (const Noise noise : steady_noises) {
    fmt::print("| {} | {:.4f} | {:.4f} |\n", noise_name(noise),
               change_rates(noise, 0, {.beta = 2}, 400).any,
               change_rates(noise, 0, {.beta = 3}, 400).any);
  }
  fmt::print(
      "\n## Change points: found within ±5 points / extra a series / share found and taken for a "
      "jump between modes, 150 series\n\n"
      "| noise | step | β = 2 | β = 3 |\n|---|---|---|---|\n");
  for (const Noise noise : steady_noises) {
    for (const double step : {0.02, 0.03, 0.05, 0.10}) {
      const ChangeRates sensitive = change_rates(noise, step, {.beta = 2}, 150);
      const ChangeRates quiet = change_rates(noise, step, {.beta = 3}, 150);
      fmt::print("| {} | {:.0f} % | {:.2f}/{:.2f}/{:.3f} | {:.2f}/{:.2f}/{:.3f} |\n",
                 noise_name(noise), step * 100, sensitive.found, sensitive.extra, sensitive.excused,
                 quiet.found, quiet.extra, quiet.excused);
    }
  }
}

void print_drift() {
  constexpr std::size_t series = 100;
  fmt::print(
      "\n## Slow drift: share of {} series of 140 commits, in 0.3 % of noise, that have an alarm "
      "at "
      "any commit / after the last one\n\n"
      "| a commit | in all | rule of the newest commit | change points, β = 2 | β = 3 |\n"
      "|---|---|---|---|---|\n",
      series);
  for (const double drift : {0.0, 0.0001, 0.0002, 0.0004, 0.0008, 0.0016}) {
    const DriftRates sensitive = drift_rates(drift, {.beta = 2}, series);
    const DriftRates quiet = drift_rates(drift, {.beta = 3}, series);
    fmt::print("| {:.2f} % | {:.1f} % | {:.2f} | {:.2f}/{:.2f} | {:.2f}/{:.2f} |\n", drift * 100,
               (std::pow(1 + drift, 139) - 1) * 100, quiet.newest, sensitive.changes,
               sensitive.at_end, quiet.changes, quiet.at_end);
  }
}

void print_labels() {
  fmt::print(
      "\n## Firefox Talos, labelled changes\n\n| β | found | of | extra |\n|---|---|---|---|\n");
  for (const double beta : {2.0, 3.0}) {
    const LabelScore score = score_labels(read_talos(), {.beta = beta});
    fmt::print("| {:.0f} | {} | {} | {} |\n", beta, score.found, score.labels, score.extra);
  }
}

}  // namespace
}  // namespace dlscale::regression

int main() {
  const auto noise = dlscale::regression::read_recorded_noise();
  if (!noise) {
    fmt::print(stderr,
               "the recordings are not here: configure with -DDLSCALE_SHARED_DATA=FOLDER\n");
    return 2;
  }
  dlscale::regression::print_one_look(*noise);
  dlscale::regression::print_sequential(*noise);
  dlscale::regression::print_broken(*noise);
  dlscale::regression::print_changes();
  dlscale::regression::print_drift();
  dlscale::regression::print_labels();
}
