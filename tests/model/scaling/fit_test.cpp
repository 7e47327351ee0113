#include "model/published/scaling/fit/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <random>
#include <utility>
#include <vector>

#include "model/published/scaling/fit/leave_out.hpp"
#include "tests/model/scaling/trainings.hpp"

namespace dlscale::model::scaling {
namespace {

/// Models with iterations that given parameters take, with errors of 1 % at most.
struct Study {
  std::list<ScalingModel> models;
  std::vector<Observed> observed;
};

Study study_of(const Parameters& truth, double noise) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> error(-noise, noise);
  Study study;
  for (const auto& [nodes, each] : {std::pair{1, 4}, {1, 8}, {4, 4}, {16, 4}}) {
    for (const auto overlap :
         {cases::Overlap::none, cases::Overlap::wfbp, cases::Overlap::bucketed}) {
      study.models.emplace_back(on_ethernet(nodes, each, overlap));
      TrainingFacts facts = training(nodes, each);
      facts.overlap = overlap;
      study.models.emplace_back(std::move(facts));
    }
  }
  for (const ScalingModel& model : study.models) {
    const Seconds time = model.time(truth).total * std::exp(error(random));
    study.observed.push_back({&model, time, 1});
  }
  return study;
}

Parameters truth() {
  Parameters parameters = Parameters::prior();
  const auto set = [&](Parameter parameter, double value) {
    parameters.values[static_cast<std::size_t>(parameter)] = value;
  };
  set(Parameter::pcie_efficiency, 0.5);
  set(Parameter::line_efficiency, 0.9);
  set(Parameter::card_efficiency, 0.45);
  set(Parameter::interference, 0.2);
  set(Parameter::jitter, 0.03);
  set(Parameter::tcp_latency, 150e-6);
  return parameters;
}

TEST(Fit, FindsTheParametersThatTimesWereMadeOf) {
  const Study study = study_of(truth(), 0.0);
  FitSettings settings;
  settings.strength = 1e-3;
  settings.rounds = 30;
  const Parameters found = fit(study.observed, Parameters::prior(), settings);
  for (const Parameter parameter :
       {Parameter::pcie_efficiency, Parameter::line_efficiency, Parameter::card_efficiency,
        Parameter::interference, Parameter::jitter, Parameter::tcp_latency}) {
    EXPECT_NEAR(found[parameter] / truth()[parameter], 1, 0.05)
        << parameter_kinds()[static_cast<std::size_t>(parameter)].name;
  }
  for (const Observed& one : study.observed) {
    EXPECT_NEAR(one.model->time(found).total / one.iteration, 1, 2e-3);
  }
}

TEST(Fit, LessensItsLossAndIsTheSameEachTime) {
  const Study study = study_of(truth(), 0.01);
  const Parameters found = fit(study.observed, Parameters::prior());
  EXPECT_LT(fit_loss(study.observed, found), 0.5 * fit_loss(study.observed, Parameters::prior()));
  EXPECT_EQ(found, fit(study.observed, Parameters::prior()));
}

TEST(Fit, LeavesTermsThatAreNotFittedAsTheyStart) {
  const Study study = study_of(truth(), 0.0);
  FitSettings settings;
  settings.terms.reset();
  EXPECT_EQ(fit(study.observed, truth(), settings), truth());
  settings.terms.set(static_cast<std::size_t>(Parameter::jitter));
  const Parameters start = Parameters::prior_of(settings.terms);
  const Parameters found = fit(study.observed, start, settings);
  for (std::size_t i = 0; i < parameter_count; ++i) {
    EXPECT_EQ(found.values[i] == start.values[i], !settings.terms[i]) << parameter_kinds()[i].name;
    if (!settings.terms[i]) {
      EXPECT_EQ(start.values[i], parameter_kinds()[i].absent);
    }
  }
}

TEST(ChooseTerms, TakesThoseThatTimesAreMadeOf) {
  Terms made_of;
  for (const Parameter term :
       {Parameter::pcie_efficiency, Parameter::card_efficiency, Parameter::jitter}) {
    made_of.set(static_cast<std::size_t>(term));
  }
  const Study study = study_of(Parameters::prior_of(made_of), 0.0);
  EXPECT_EQ(choose_terms(study.observed), made_of);
  EXPECT_TRUE(choose_terms(study_of(Parameters::prior_of({}), 0.0).observed).none());
}

TEST(Fit, KeepsToAStrongPrior) {
  const Study study = study_of(truth(), 0.0);
  FitSettings settings;
  settings.strength = 1e9;
  const Parameters found = fit(study.observed, Parameters::prior(), settings);
  for (std::size_t i = 0; i < parameter_count; ++i) {
    EXPECT_NEAR(found.values[i] / parameter_kinds()[i].median, 1, 1e-5);
  }
}

TEST(Fit, ATrainingThatIsFarOffBendsItLittle) {
  Study study = study_of(truth(), 0.0);
  const Parameters without = fit(study.observed, Parameters::prior());
  study.observed.push_back(study.observed.front());
  study.observed.back().iteration = 10 * study.observed.back().iteration;
  const Parameters with = fit(study.observed, Parameters::prior());
  for (const Observed& one : study.observed) {
    EXPECT_NEAR(one.model->time(with).total / one.model->time(without).total, 1, 0.05);
  }
}

TEST(Fit, OfNothingIsThePrior) {
  const Parameters found = fit({}, Parameters::prior());
  for (std::size_t i = 0; i < parameter_count; ++i) {
    EXPECT_NEAR(found.values[i] / parameter_kinds()[i].median, 1, 1e-9);
  }
}

TEST(Fit, EveryParameterIsNamedAndPositive) {
  for (const ParameterKind& kind : parameter_kinds()) {
    EXPECT_FALSE(kind.name.empty() || kind.doc.empty());
    EXPECT_TRUE(kind.unit == "s" || kind.unit == "1" || kind.unit == "B/s") << kind.name;
    EXPECT_GT(kind.median, 0) << kind.name;
    EXPECT_GT(kind.spread, 0) << kind.name;
  }
}

}  // namespace
}  // namespace dlscale::model::scaling
