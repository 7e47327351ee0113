#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/conv/step_run.hpp"

namespace dlscale::bench {
namespace {

/// Writes down that it ran.
class Noted : public StepRun {
 public:
  Noted(int number, std::vector<int>& ran) : number_(number), ran_(&ran) {}
  void run() override { ran_->push_back(number_); }
  [[nodiscard]] std::vector<std::span<std::byte>> produced() const override { return {}; }
  [[nodiscard]] std::string implementation() const override {
    return "noted " + std::to_string(number_);
  }

 private:
  int number_;
  std::vector<int>* ran_;
};

TEST(RotatingRun, RunsOnEachSetInTurn) {
  std::vector<int> ran;
  std::vector<std::unique_ptr<StepRun>> sets;
  for (const int number : {0, 1, 2}) sets.push_back(std::make_unique<Noted>(number, ran));
  const auto rotating = make_rotating_run(std::move(sets));
  for (int i = 0; i < 7; ++i) rotating->run();
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(rotating->implementation(), "noted 0");
}

}  // namespace
}  // namespace dlscale::bench
