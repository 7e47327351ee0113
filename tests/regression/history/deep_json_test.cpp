// Brackets that nest a hundred thousand deep, as damage or malice leaves them: to copy or print
// such a value would overflow the stack.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "regression/gate/gate_report.hpp"
#include "regression/history/alert_state.hpp"
#include "regression/history/run.hpp"
#include "regression/history/store.hpp"
#include "tests/regression/history/histories.hpp"

namespace dlscale::regression::history {
namespace {

const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');

void expect_refused(const std::string& name, const std::function<void()>& read) {
  try {
    read();
    ADD_FAILURE() << name << " was read";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("nests more than 500 levels deep"), std::string::npos)
        << name << ": " << error.what();
  }
}

TEST(DeepJson, IsRefusedInFilesOfEveryTool) {
  const samples::TemporaryFolder folder;
  const std::vector<std::string> texts{
      R"({"context": {"a": )" + deep + R"(}, "benchmarks": []})",
      R"({"context": {}, "benchmarks": [{"name": )" + deep + "}]}",
      R"({"results": [{"command": "a", "times": [1], "parameters": )" + deep + "}]}",
      R"({"schema": "dlscale.validation", "version": 1, "runs": )" + deep + "}",
      R"(:::MLLOG {"key": "submission_benchmark", "value": )" + deep + "}\n"};
  RunOptions options;
  options.commit = "c1";
  options.time = 0;
  for (const std::string& text : texts) {
    samples::write_text(folder / "run", text);
    expect_refused(text.substr(0, 40), [&] { (void)read_run((folder / "run").string(), options); });
  }
}

TEST(DeepJson, IsRefusedInTheProgramsOwnFiles) {
  expect_refused("a key", [] { (void)parse_series_key("{\"suite\": " + deep + "}"); });
  expect_refused("an annotation", [] { (void)parse_annotation("{\"time\": " + deep + "}"); });
  expect_refused("a gate", [] { (void)gate_report_of("{\"schema\": " + deep + "}", "gate.json"); });
}

/// Values of other types than a history writes.
TEST(StoreFormat, IsRefusedInASentenceWhateverItHolds) {
  for (const char* text :
       {"{\"schema\": 7}", "{\"schema\": \"dlscale.history\", \"version\": \"1\"}", "[]", "7", "",
        "{\"schema\": null, \"version\": {}}", "{\"version\": 1}"}) {
    const samples::TemporaryFolder folder;
    samples::write_text(folder / "format.json", text);
    EXPECT_THROW((void)Store(folder.path()).runs(), ConfigError) << text;
  }
}

}  // namespace
}  // namespace dlscale::regression::history
