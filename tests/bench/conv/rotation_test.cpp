#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/workbench/step_run.hpp"

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

TEST(OperandSets, AreManyOnlyInRotation) {
  const Workbench workbench(open_device("reference", 1), open_device("reference", 1), 1);
  for (const CacheState cache : settable_cache_states) {
    EXPECT_EQ(operand_sets(workbench, cache, Bytes(1e3)), 1);
  }
  EXPECT_EQ(operand_sets(workbench, CacheState::rotating, Bytes(1e6)),
            workbench.rotation_sets(Bytes(1e6)));
}

TEST(OperandSets, AreNotTakenWhereTheMemoryHoldsFewer) {
  const Workbench workbench(open_device("reference", 1), open_device("reference", 1), 1);
  const auto group = backend::local_group(1);
  const auto reason = [&](int sets, Bytes each) {
    return find_room(*group.front(), workbench, sets, [each] { return each; }).unsupported;
  };
  EXPECT_EQ(reason(2, Bytes(1e3)), "");
  EXPECT_EQ(reason(1, Bytes(1e18)), "");  // of one it is known
  const std::string many = reason(2, Bytes(1e18));
  EXPECT_EQ(many.find("of 2 sets of operands in rotation: "), 0U) << many;
}

}  // namespace
}  // namespace dlscale::bench
