// Logs of containers that have a line of JSON for each line.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "logs.hpp"
#include "regression/import/content_kind.hpp"

namespace dlscale::regression::history {
namespace {

using namespace logs;

/// The log with each line in place of "@" in an entry.
std::string entries(std::string_view log, std::string_view entry) {
  return each_line(log, [entry](std::string_view line) {
    const std::string text = nlohmann::json(std::string(line)).dump();
    return replaced(entry, "@", text.substr(1, text.size() - 2));
  });
}

TEST(JsonLog, IsReadAsTheTextThatItHolds) {
  const std::string osu =
      "# OSU MPI Latency Test v7.4\n# Size     Latency (us)\n1   1.25\n2   1.26\n";
  for (
      const std::string_view entry : {
          R"({"log":"@\n","stream":"stdout","time":"2026-08-01T10:00:00.123456789Z"})",  // Docker
          R"({"log": "@", "stream": "stdout", "kubernetes": {"pod_name": "nccl-0", "labels": {}}})",
          R"({"__REALTIME_TIMESTAMP":"1785578400123456","_PID":"77","MESSAGE":"@"})",  // journald
          R"({"textPayload":"@","severity":"INFO","timestamp":"2026-08-01T10:00:00Z"})",
          R"({"level":"info","ts":1785578400.5,"msg":"@"})",
          R"({"timestamp":1785578400123,"message":"@","ingestionTime":1785578400200})",
          R"({"log":"0: @\n","stream":"stdout","time":"2026-08-01T10:00:00Z"})",
      }) {
    for (const std::string& text : {right_nccl(), osu}) {
      const ImportedRun plain = read_log(text);
      const ImportedRun run = read_log(entries(text, entry));
      EXPECT_EQ(run.points.size(), plain.points.size()) << entry << all_notes(run);
      if (run.points.empty()) continue;
      EXPECT_EQ(run.points[0].key.text(), plain.points[0].key.text()) << entry;
      EXPECT_EQ(run.content, entries(text, entry)) << "the history keeps the file as it is";
    }
  }
}

TEST(JsonLog, JoinsWhatDockerCutsAndKeepsOtherLines) {
  const std::string warning = "node-a:653 " + std::string(16384 - 11, 'x');
  const std::string cut = fmt::format("{{\"log\":\"{}\"}}\n{{\"log\":\"yy\\n\"}}\n", warning);
  const std::string whole = entries(right_nccl(), R"({"log":"@\n"})");
  EXPECT_EQ(read_log(cut + whole + "{\"log\": \"#").points.size(), 12U);
  EXPECT_EQ(program_that_wrote(R"({"log":"hello\n","stream":"stdout"})"),
            "containers that log JSON");
  for (const std::string_view other :
       {R"({"log": 5})", R"(["log"])", R"({"log")", "{}", R"({"results": [{"log": "a"}]})"}) {
    EXPECT_NE(program_that_wrote(other), "containers that log JSON") << other;
    EXPECT_EQ(unwrapped(other), "") << other;
  }
}

}  // namespace
}  // namespace dlscale::regression::history
