#include "core/system/input_file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "core/system/file_kind.hpp"
#include "tests/core/gzip.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::config_error;
using test::expect_contains;
using test::gzip;
using test::TemporaryFolder;

constexpr std::string_view advice = "Look again.";

std::string refusal_of(const std::filesystem::path& path, std::size_t most = most_inflated_bytes) {
  return config_error([&] { (void)read_input(path, advice, most); });
}

/// Numbers as in a result file, which shrink to about half.
std::string numbers(std::size_t count) {
  std::mt19937 random(7);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += std::to_string(random()) + "\n";
  return text;
}

TEST(ContentOf, IsEmptyWhereNothingCanBeRead) {
  const TemporaryFolder folder;
  const std::string text("a\r\n\0b", 5);
  EXPECT_EQ(content_of(folder.write("plain", text)), text);
  EXPECT_EQ(content_of(folder.write("empty", "")), "");
  EXPECT_FALSE(content_of("/proc/self/cmdline").empty()) << "a file whose size is 0";
  EXPECT_EQ(content_of("/no/such/file"), "");
  EXPECT_EQ(content_of("/proc"), "") << "a folder opens, but is not read";
}

TEST(FileKind, IsNamedWhereAnotherIsWanted) {
  const TemporaryFolder folder;
  const auto refusal = [&](std::string_view text, FileKind wanted) {
    return config_error([&] { refuse_other_kind(folder.write("a", text), wanted); });
  };
  const std::string machine = refusal("{\n \"schema\": \"dlscale.machine\"}", FileKind::cluster);
  expect_contains(machine, "is a machine description, and the description of a cluster is wanted");
  expect_contains(refusal("# a\n\nnetwork: x\n", FileKind::device), "description of a network");
  expect_contains(refusal("{\"schema\": \"dlscale.sweep\"}", FileKind::results),
                  "an answer of dlscale (dlscale.sweep), and a file of results is wanted");
  for (const std::string_view passed :
       {"cluster: x\n", "device: y\ncluster: x\n", "unknown: 1\n", "{}", "", "# only a remark"}) {
    refuse_other_kind(folder.write("a", passed), FileKind::cluster);
  }
  refuse_other_kind(folder.write("a", "{\"schema\": \"dlscale.case/1\"}"), FileKind::cases);
  refuse_other_kind(folder.write("a", "{\"schema\": \"dlscale.allreduce/1\"}"), FileKind::cases);
}

TEST(ReadInput, TakesFilesAsTheyAre) {
  const TemporaryFolder folder;
  const std::string text("a\r\n\0b\x1f\x8b", 7);
  EXPECT_EQ(read_input(folder.write("plain", text), advice), text);
  EXPECT_EQ(read_input(folder.write("empty", ""), advice), "");
  EXPECT_EQ(read_input(folder.write("short", "\x1f"), advice), "\x1f");
}

TEST(ReadInput, InflatesGzipWhateverItsName) {
  const TemporaryFolder folder;
  for (const std::string& text : {std::string(), std::string("one"), numbers(200'000)}) {
    EXPECT_EQ(read_input(folder.write("a.jsonl.gz", gzip(text)), advice), text);
    EXPECT_EQ(read_input(folder.write("a.jsonl", gzip(text)), advice), text);
  }
  EXPECT_EQ(read_input(folder.write("plain.gz", "not compressed"), advice), "not compressed");
}

TEST(ReadInput, JoinsMembers) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.gz", gzip("one\n") + gzip("") + gzip("two\n"));
  EXPECT_EQ(read_input(file, advice), "one\ntwo\n");
}

TEST(ReadInput, RefusesEveryTruncation) {
  const TemporaryFolder folder;
  const std::string packed = gzip(numbers(100));
  for (std::size_t length = 2; length < packed.size(); ++length) {
    const auto file = folder.write("cut.jsonl.gz", packed.substr(0, length));
    const std::string error = refusal_of(file);
    expect_contains(error, file.string() + " is compressed with gzip and cut short");
  }
}

TEST(ReadInput, NeverTakesDamageForContent) {
  const TemporaryFolder folder;
  const std::string text = numbers(50);
  const std::string packed = gzip(text);
  for (std::size_t bit = 16; bit < 8 * packed.size(); ++bit) {
    std::string damaged = packed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto file = folder.write("damaged.jsonl.gz", damaged);
    try {
      EXPECT_EQ(read_input(file, advice), text) << bit;  // its time or system, which nobody reads
    } catch (const ConfigError& error) {
      expect_contains(error.what(), file.string() + " is compressed with gzip and ");
    }
  }
}

TEST(ReadInput, RefusesWhatFollowsGzip) {
  const TemporaryFolder folder;
  for (const std::string& more : {std::string("more"), std::string(512, '\0')}) {
    expect_contains(refusal_of(folder.write("a.gz", gzip("one") + more)),
                    "damaged 3 bytes into its content");
  }
}

TEST(ReadInput, IsNotFilledByABomb) {
  const TemporaryFolder folder;
  constexpr std::size_t megabyte = std::size_t{1} << 20U;
  const std::string packed = gzip(std::string(megabyte, '\0'));
  EXPECT_LT(packed.size(), megabyte / 500);
  const auto file = folder.write("bomb.jsonl.gz", packed);
  EXPECT_EQ(read_input(file, advice, megabyte).size(), megabyte);
  expect_contains(refusal_of(file, megabyte - 1), "inflates to more than 1048575 bytes");
  expect_contains(refusal_of(folder.write("two.gz", packed + packed), 2 * megabyte - 1),
                  "two.gz is compressed with gzip and inflates to more than ");
}

TEST(ReadInput, RefusesZerosInPlaceOfText) {
  const TemporaryFolder folder;
  const std::string zeros(4096, '\0');
  for (const auto& [content, byte] :
       {std::pair(zeros, "byte 0"), std::pair("{}\n" + zeros, "byte 3"),
        std::pair("{}\n" + zeros + "{}\n", "byte 3")}) {
    const std::string said = refusal_of(folder.write("zeros.json", content));
    expect_contains(said, fmt::format("zero bytes from {} on", byte));
  }
  const std::string few(500, '\0');
  EXPECT_EQ(read_input(folder.write("two.log", "a\n" + few + "b\n"), advice).size(), 504U);
  expect_contains(refusal_of(folder.write("cut.log", "{}\n" + few)), "zero bytes from byte 3 on");
  EXPECT_EQ(read_input(folder.write("padded.log", "a\n" + few), advice).size(), 502U);
  // A file of which most is a hole is refused before all of it is read.
  const std::filesystem::path hole = folder.write("hole.json", "");
  std::filesystem::resize_file(hole, std::uintmax_t{1} << 40U);
  expect_contains(refusal_of(hole), "zero bytes");
  const std::filesystem::path huge = folder.write("huge.log", std::string(1U << 21U, 'a'));
  std::filesystem::resize_file(huge, std::uintmax_t{1} << 40U);
  expect_contains(refusal_of(huge), "is larger than");
}

TEST(ReadInput, SaysWhatIsNoFile) {
  const TemporaryFolder folder;
  expect_contains(refusal_of(folder.path()), "cannot be read (it is a folder). Look again.");
  expect_contains(refusal_of(folder.path() / "absent"), "(No such file or directory). Look again.");
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_contains(refusal_of(pipe), "it is a pipe or a device");
  expect_contains(refusal_of("-"), "it is a pipe or a device");
  expect_contains(refusal_of("/dev/null"), "Write what it gives to a file, and name that.");
}

TEST(ReadBeginning, IsThatOfTheWhole) {
  const TemporaryFolder folder;
  const std::string text = numbers(100'000);
  const auto plain = folder.write("a.jsonl", text);
  const auto packed = folder.write("a.jsonl.gz", gzip(text));
  for (const std::size_t bytes : {0UL, 1UL, 4000UL, 500'000UL, 10'000'000UL}) {
    EXPECT_EQ(read_beginning(plain, bytes), text.substr(0, bytes)) << bytes;
    EXPECT_EQ(read_beginning(packed, bytes), text.substr(0, bytes)) << bytes;
  }
}

TEST(ReadBeginning, IsLeftOfDamageAndEmptyOfWhatIsNoFile) {
  const TemporaryFolder folder;
  const std::string text = numbers(1000);
  const std::string packed = gzip(text);
  const auto cut = folder.write("cut.gz", packed.substr(0, packed.size() / 2));
  EXPECT_EQ(read_beginning(cut, 100), text.substr(0, 100));
  EXPECT_EQ(read_beginning(folder.path(), 100), "");
  EXPECT_EQ(read_beginning(folder.path() / "absent", 100), "");
  EXPECT_TRUE(is_gzip(cut));
  EXPECT_FALSE(is_gzip(folder.path()));
  EXPECT_FALSE(is_gzip(folder.write("plain.gz", text)));
}

}  // namespace
}  // namespace dlscale
