#include "core/text/launcher_lines.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/utf8_text.hpp"

namespace dlscale {
namespace {

std::vector<LauncherLine> lines_of(std::string_view log) {
  LauncherLines lines(log);
  std::vector<LauncherLine> found;
  for (LauncherLine line; lines.next(line);) found.push_back(line);
  return found;
}

struct Prefix {
  std::string_view text;
  std::string_view source;
};

TEST(LauncherLines, DropThePrefixesOfLaunchersAndServices) {
  constexpr std::string_view row = "     8388608       2097152  float     sum";
  constexpr std::string_view heading = "#       size         count      type";
  for (const Prefix& prefix : {
           Prefix{"", ""},
           Prefix{"0: ", "0"},                // srun --label
           Prefix{" 0: ", "0"},               // of ten tasks or more
           Prefix{"  12: ", "12"},            // of a hundred or more
           Prefix{"[0] ", "0"},               // Hydra
           Prefix{"[0]", "0"},                // MPICH -l
           Prefix{"[1,0]<stdout>:", "1,0"},   // Open MPI 4
           Prefix{"[1,0]<stdout>: ", "1,0"},  // Open MPI 5
           Prefix{"[prterun-node-7@1,0]<stdout>: ", "prterun-node-7@1,0"},
           Prefix{"[prterun-n-7@1,0][n:123]<stderr>: ", "prterun-n-7@1,0"},
           Prefix{"Sat Aug  1 10:00:00 2026[1,0]<stdout>:", "1,0"},
           Prefix{"Sat Aug  1 10:00:00 2026<stdout>: ", ""},
           Prefix{"[0]<stdout>:", "0"},                    // horovodrun
           Prefix{"[default0]:", "default0"},              // torchrun
           Prefix{"[rank3]: ", "rank3"},                   // PyTorch
           Prefix{"2026-08-01T10:00:00.123456789Z ", ""},  // kubectl --timestamps, GitHub
           Prefix{"2026-08-01T10:00:00+02:00 ", ""},
           Prefix{"2026-08-01T10:00:00.123456Z 00O ", ""},  // GitLab
           Prefix{"2026-08-01T10:00:00.1Z stdout F ", ""},  // CRI
           Prefix{"[pod/nccl-0/main] ", "pod/nccl-0/main"},
           Prefix{"[pod/nccl-0/main] 2026-08-01T10:00:00.5Z ", "pod/nccl-0/main"},
           Prefix{"nccl-1  | ", "nccl-1"},  // docker compose
           Prefix{"node-17: ", "node-17"},  // pdsh
           Prefix{"10.0.0.7: ", "10.0.0.7"},
           Prefix{"node[1-2]: ", "node[1-2]"},  // clush
           Prefix{"node[1-2,7],gpu[01-04]: ", "node[1-2,7],gpu[01-04]"},
           Prefix{"[NID 00012] 2026-08-01 10:00:00 ", "NID 00012"},  // aprun
           Prefix{"slurm-1.out: ", "slurm-1.out"},
           Prefix{"logs/a.out:12: ", "logs/a.out"},  // grep -n
           Prefix{"logs/a.out-12- ", "logs/a.out"},
           Prefix{"(train pid=77, ip=10.0.0.1) ", "train pid=77, ip=10.0.0.1"},
           Prefix{"Aug  1 10:00:00 ", ""},  // ts
           Prefix{"Aug  1 10:00:00 host run.sh[77]: ", "host run.sh[77]"},
           Prefix{"2026-08-01 10:00:00,123 ", ""},
           Prefix{"[2026-08-01 10:00:00] ", ""},
           Prefix{"[10:00:00] ", ""},
           Prefix{"00:00:05 ", ""},  // ts -s
           Prefix{"[0:00:12.084] ", ""},
           Prefix{"01:02.084 ", ""},
           Prefix{"1.510s: ", ""},  // flux
           Prefix{"1m2.510s: ", ""},
           Prefix{"12ms: ", ""},
           Prefix{"10:00:00 AM ", ""},
           Prefix{"[+12.5s] ", ""},
           Prefix{"1754042400.123456 ", ""},  // ts %.s
           Prefix{"[   12.345678] ", ""},
           Prefix{"> ", ""},  // a quotation
           Prefix{"\x1b[0m\x1b[32m", ""},
           Prefix{"[32m", ""},  // a log without escape bytes
       }) {
    for (const std::string_view text : {row, heading}) {
      const std::string line = std::string(prefix.text) + std::string(text);
      const std::vector<LauncherLine> found = lines_of(line);
      ASSERT_EQ(found.size(), 1U);
      // Some launchers print a blank of their own, some do not.
      const std::string_view own(found[0].text);
      EXPECT_EQ(own.substr(own.find_first_not_of(' ')), text.substr(text.find_first_not_of(' ')))
          << line;
      EXPECT_LE(text.size() - own.size(), 1U) << line;
      EXPECT_EQ(found[0].source, prefix.source) << line;
    }
  }
}

/// A short log has few comments, and rows that begin with numbers of their own.
TEST(LauncherLines, DropNumbersOfLinesAndUnknownPrefixesOfShortLogs) {
  const std::vector<std::string> texts{"# OSU MPI Latency Test v5.6.2", "# Size    Latency (us)",
                                       "1      1.25", "2      1.26"};
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {"     ", "\t"},              // cat -n
           {"", "\t"},                   // nl -w1
           {"  ", " "},                  // less -N, vim
           {"   ", "   \xE2\x94\x82 "},  // bat
           {"worker>", " "},             // numbers that no launcher prints
           {"job/", "/out! "}}) {
    std::string log;
    int number = 8;
    for (const std::string& text : texts) {
      log += before + std::to_string(++number) + after + text + "\n";
    }
    std::vector<std::string> found;
    for (const LauncherLine& line : lines_of(log)) found.push_back(line.text);
    EXPECT_EQ(found, texts) << log;
  }
  std::string own;
  for (const std::string& text : texts) own += text + "\n";
  for (const LauncherLine& line : lines_of(own)) EXPECT_EQ(line.text, texts[line.number - 1]);
}

/// Sources and texts of a log, as "source|text".
std::vector<std::string> sources_and_texts(std::string_view log) {
  std::vector<std::string> found;
  for (const LauncherLine& line : lines_of(log)) found.push_back(line.source + "|" + line.text);
  return found;
}

TEST(LauncherLines, TellLabelsFromNumbersOfLines) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(sources_and_texts("0:# a\n0:# b\n1:# a\n0:  8 2\n"),
            (Lines{"0|# a", "0|# b", "1|# a", "0|  8 2"}));
  EXPECT_EQ(sources_and_texts("9:# a\n10:# b\n12-  8 2\n"), (Lines{"|# a", "|# b", "|  8 2"}));
  EXPECT_EQ(sources_and_texts("0:# a\n0:# b\n0:8 2\n"), (Lines{"0|# a", "0|# b", "0|8 2"}));
  EXPECT_EQ(sources_and_texts("a.out:1:# a\na.out:2:# b\nb.out:1:# a\n"),
            (Lines{"a.out|# a", "a.out|# b", "b.out|# a"}));
}

TEST(LauncherLines, DropWhatStandsBeforeAllComments) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(sources_and_texts("     1\t# a\n     2\t#\n     3\t# b\n    10\t  8 2\n"),
            (Lines{"|# a", "|#", "|# b", "|  8 2"}));
  EXPECT_EQ(sources_and_texts("w0 main # a\nw0 main #\nw1 main # a\nw1 main #\nw0 main   8\n"),
            (Lines{"w0 main |# a", "w0 main |#", "w1 main |# a", "w1 main |#", "w0 main |  8"}));
  // Two comments may be chance, and one without a prefix shows that there is none.
  for (const std::string_view log : {"a # b\na # c\n", "a # b\na # c\na # d\n# e\n",
                                     "a # b\nc # d\ne # f\n", "{\"a\": \"# b\"}\n"}) {
    EXPECT_EQ(lines_of(log).front().text, log.substr(0, log.find('\n'))) << log;
  }
}

TEST(LauncherLines, LeaveTheProgramsOwnText) {
  for (const std::string_view text :
       {"Copy:           12345.6     0.012     0.011     0.013", "8       1.22", "",
        "  1024  256  float  sum  -1  45.80  10.00  20.00  0  2026-08-01 10:00:00",
        ":::MLLOG {\"key\": \"run_start\", \"time_ms\": 1}",
        "# OSU MPI Allreduce Latency Test v7.3", "1048576             812.35",
        "iteration 10: loss 3.2 | 4 ms"}) {
    const std::vector<LauncherLine> found = lines_of(std::string(text) + "\n");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].text, text);
  }
}

TEST(LauncherLines, EndAtAnyLineEndAndCountLinesOfTheFile) {
  const std::vector<LauncherLine> found = lines_of(
      "a\r\nb\rc\nd\xC2\xA0"
      "1\x01\n");
  std::vector<std::string> texts;
  std::vector<std::size_t> numbers;
  for (const LauncherLine& line : found) {
    texts.push_back(line.text);
    numbers.push_back(line.number);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "b", "c", "d 1"}));
  EXPECT_EQ(numbers, (std::vector<std::size_t>{1, 2, 2, 3}));
}

std::string utf16(std::string_view text, bool little, std::string_view mark) {
  std::string bytes(mark);
  for (const char letter : text) {
    if (!little) bytes += '\0';
    bytes += letter;
    if (little) bytes += '\0';
  }
  return bytes;
}

TEST(Utf8Text, IsTheSameFromEveryEncoding) {
  constexpr std::string_view text = "{\"a\": 1}\n# size\n";
  EXPECT_EQ(utf8_text(std::string(text)), text);
  EXPECT_EQ(utf8_text("\xEF\xBB\xBF" + std::string(text)), text);
  EXPECT_EQ(utf8_text("\xEF\xBB\xBF{\"a\": 1}\n\xEF\xBB\xBF# size\n"), text);
  EXPECT_EQ(utf8_text(utf16(text, true, "\xFF\xFE")), text);
  EXPECT_EQ(utf8_text(utf16(text, false, "\xFE\xFF")), text);
  EXPECT_EQ(utf8_text(utf16(text, true, "")), text);
  EXPECT_EQ(utf8_text(utf16(text, false, "")), text);
  // Letters beyond ASCII, a pair of surrogates, and half of one.
  EXPECT_EQ(utf8_text(std::string("\xFF\xFE\xE9\x00\xAC\x20\x3D\xD8\x00\xDE\x3D\xD8", 12)),
            "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD");
  EXPECT_EQ(utf8_text(""), "");
  EXPECT_EQ(utf8_text(std::string(9, '\0')), std::string(9, '\0'));
  EXPECT_EQ(utf8_text("caf\xE9 \xEF\xBB\xBF"), "caf\xE9 \xEF\xBB\xBF");
}

}  // namespace
}  // namespace dlscale
