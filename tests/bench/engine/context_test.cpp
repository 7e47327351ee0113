#include <gtest/gtest.h>

#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

std::vector<Cell> no_cells(Context&) {
  return {};
}

Benchmark benchmark() {
  return {.name = "fake",
          .doc = "",
          .axes = {{"batch", "images", "8"},
                   {"network", "names", "alexnet,resnet50"},
                   {"loader_threads", "threads", "many"}},
          .cells = no_cells};
}

std::string message(const std::function<void()>& act) {
  try {
    act();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no ConfigError";
}

class ContextTest : public testing::Test {
 protected:
  Context make(std::map<std::string, std::string> given) {
    return make_context(benchmark(), std::move(given), *group_.front());
  }
  std::vector<std::unique_ptr<backend::Communicator>> group_ = backend::local_group(1);
};

TEST_F(ContextTest, FillsInDefaults) {
  const Context context = make({{"batch", "16"}});
  EXPECT_EQ(context.integer("batch"), 16);
  EXPECT_EQ(context.list("network"), (std::vector<std::string>{"alexnet", "resnet50"}));
}

TEST_F(ContextTest, NamesTheAxesWhenOneIsUnknown) {
  const std::string said = message([&] { make({{"batsh", "16"}}); });
  EXPECT_TRUE(said.starts_with("--batsh is not an axis of bench fake. Did you mean \"batch\"?"))
      << said;
  EXPECT_NE(said.find("network"), std::string::npos) << said;
}

TEST_F(ContextTest, RefusesWhatIsNoPositiveInteger) {
  for (const char* wrong : {"0", "-8", "8x", "x", "", "8.5", "99999999999", "1e3"}) {
    const Context context = make({{"batch", wrong}});
    const std::string said = message([&] { static_cast<void>(context.integer("batch")); });
    EXPECT_NE(said.find("--batch is \""), std::string::npos) << wrong << ": " << said;
  }
}

TEST_F(ContextTest, SpellsAxesAsTheCommandLineDoes) {
  const Context context = make({});
  const std::string said = message([&] { static_cast<void>(context.integer("loader_threads")); });
  EXPECT_TRUE(said.starts_with("--loader-threads is \"many\"")) << said;
}

TEST_F(ContextTest, ReadsListsWithSpacesAroundItems) {
  EXPECT_EQ(make({{"batch", " 1, 8 ,32"}}).integers("batch"), (std::vector<int>{1, 8, 32}));
}

TEST_F(ContextTest, RefusesListsWithAnEmptyItemOrTheSameTwice) {
  for (const char* wrong : {"1,,2", ",1", "1,", ""}) {
    const Context context = make({{"batch", wrong}});
    EXPECT_NE(message([&] { static_cast<void>(context.integers("batch")); }).find("is empty"),
              std::string::npos)
        << wrong;
  }
  const Context twice = make({{"batch", "8,16,8"}});
  EXPECT_NE(message([&] { static_cast<void>(twice.integers("batch")); }).find("8 twice"),
            std::string::npos);
}

TEST_F(ContextTest, RefusesSoManyThreadsThatTheyOnlyTakeTurns) {
  const auto most = most_threads_of_a_core * static_cast<int>(backend::usable_cores().size());
  const auto refusal = [&](const std::string& threads) {
    return message([&] { expect_few_threads(make({{"loader_threads", threads}})); });
  };
  EXPECT_EQ(refusal("1," + std::to_string(most)), "no ConfigError");
  EXPECT_NE(refusal("1," + std::to_string(most + 1))
                .find("Give --loader-threads at most " + std::to_string(most)),
            std::string::npos);
}

TEST_F(ContextTest, CallsAnAxisThatIsNotDeclaredABug) {
  const Context context = make({});
  EXPECT_THROW(static_cast<void>(context.value("threads")), std::logic_error);
}

}  // namespace
}  // namespace dlscale::bench
