#include "core/network/timed_layers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/csv_table.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::config_error;
using test::expect_contains;
using test::replaced;

constexpr std::string_view two_layers =
    "# where it is from\n"
    "layer,forward_s,backward_s,gradient_bytes\n"
    "first,0.001,0.002,400\n"
    "\n"
    "\"second, \"\"wide\"\"\", 0.003 ,4e-3,0\r\n";

constexpr std::string_view three_times =
    "ranks,bytes,time_s\n2,1000,1e-4\n2,2000,1.5e-4\n4,1000,2e-4\n";

TimedLayers layers_of(std::string_view text) {
  const test::TemporaryFolder folder;
  return read_timed_layers(folder.write("net.csv", text));
}

std::vector<TimedMessage> messages_of(std::string_view text) {
  const test::TemporaryFolder folder;
  std::vector<std::string> notes;
  return read_timed_messages(folder.write("all_reduce.csv", text), notes);
}

TEST(TimedLayersTest, AreReadInOrderWithQuotesAndComments) {
  const TimedLayers timed = layers_of(two_layers);
  EXPECT_EQ(timed.name, "net");
  ASSERT_EQ(timed.layers.size(), 2U);
  EXPECT_EQ(timed.layers[1].name, "second, \"wide\"");
  EXPECT_EQ(timed.layers[1].forward, Seconds(0.003));
  EXPECT_EQ(timed.layers[0].gradient, Bytes(400));
  EXPECT_DOUBLE_EQ(timed.forward().si(), 0.004);
  EXPECT_DOUBLE_EQ(timed.backward().si(), 0.006);
  EXPECT_EQ(timed.untold, (std::vector<std::string>{"io_s", "h2d_s", "update_s"}));
}

TEST(TimedLayersTest, AddUpWhatIsOfTheWholeIteration) {
  const TimedLayers timed = layers_of(
      "update_s,layer,kernel,io_s,gradient_bytes,h2d_s,backward_s,forward_s\n"
      "1,a,gemm,10,4,100,1000,10000\n2,b,gemm,20,8,200,2000,20000\n");
  EXPECT_EQ(timed.update, Seconds(3));
  EXPECT_EQ(timed.io, Seconds(30));
  EXPECT_EQ(timed.h2d, Seconds(300));
  EXPECT_EQ(timed.backward(), Seconds(3000));
  EXPECT_EQ(timed.forward(), Seconds(30000));
  EXPECT_TRUE(timed.untold.empty());
}

TEST(TimedLayersTest, MayBeginWithAByteOrderMark) {
  EXPECT_EQ(layers_of("\xEF\xBB\xBF" + std::string(two_layers)).layers.size(), 2U);
  EXPECT_EQ(layers_of("\xEF\xBB\xBFlayer,forward_s,backward_s,gradient_bytes\na,1,1,4\n").name,
            "net");
}

struct Damage {
  std::string_view from;
  std::string_view to;
  std::string_view said;
};

TEST(TimedLayersTest, OfAnotherFormAreRefusedWithPlaceAndReason) {
  for (const Damage& damage :
       {Damage{"0.001", "-0.001", "net.csv:3: the column forward_s is \"-0.001\""},
        Damage{"0.001", "1 ms", "which is not a number from 0 to 1e+06"},
        Damage{"0.001", "\"1,234.5\"", "without separators of thousands"},
        Damage{"0.001", "1'234.5", "without separators of thousands"},
        Damage{"0.001", "1,234", "numbers without separators of thousands"},
        Damage{"0.001", "nan", "not a number"},
        Damage{"0.001", "inf", "not a number"},
        Damage{"0.001", "1e999", "not a number"},
        Damage{"0.001", "2e6", "not a number"},
        Damage{"0.001", "", "forward_s is \"\""},
        Damage{"first", "", "the column layer is empty"},
        Damage{"first", "\"first", "a quoted cell does not end"},
        Damage{"first", "\"first\"x", "a quoted cell does not end"},
        Damage{"first,", "", "net.csv:3: the line has 3 cells, and the header names 4 columns"},
        Damage{",backward_s", ",back", "lacks the column backward_s"},
        Damage{",backward_s", ",bakward_s", "Did you mean \"backward_s\"?"},
        Damage{",backward_s", ",backward_ms", "must be backward_s, in seconds"},
        Damage{",backward_s", ",backward_us", "must be backward_s, in seconds"},
        Damage{",gradient_bytes", ",gradient_MB", "must be gradient_bytes, in bytes"},
        Damage{",forward_s", ",forward_ns", "must be forward_s, in seconds"},
        Damage{",backward_s", ",forward_s", "the column forward_s is there twice"},
        Damage{",backward_s", ",\x1b[2J", "lacks the column backward_s"},
        Damage{"400", "0", "gradient_bytes is 0 in every layer"},
        Damage{"0.002,400\n\n\"second, \"\"wide\"\"\", 0.003 ,4e-3", "0,400\n\nb,1,0",
               "backward_s takes no time"}}) {
    const std::string text = replaced(two_layers, damage.from, damage.to);
    expect_contains(config_error([&] { (void)layers_of(text); }), damage.said);
  }
  expect_contains(config_error([] { (void)layers_of(""); }), "holds no times of layers");
  expect_contains(
      config_error([] { (void)layers_of("layer,forward_s,backward_s,gradient_bytes\n"); }),
      "holds no times of layers");
  expect_contains(config_error([] { (void)read_timed_layers("/nowhere/net.csv"); }),
                  "cannot be read");
}

TEST(TimedLayersTest, AreNoMoreThanAnybodyTrains) {
  std::string text("layer,forward_s,backward_s,gradient_bytes\n");
  for (int i = 0; i <= 10'000; ++i) text += "a,1,1,4\n";
  expect_contains(config_error([&] { (void)layers_of(text); }), "has 10001 layers");
  const std::string wide(70'000, 'a');
  expect_contains(config_error([&] { (void)layers_of(wide); }), "lines of 65536 bytes");
}

/// Each unknown column was looked for among all others.
TEST(TimedLayersTest, WithManyColumnsAreRefusedAtOnce) {
  const std::clock_t start = std::clock();
  expect_contains(config_error([] { (void)layers_of(std::string(60'000, ',') + "\n"); }),
                  "lacks the column layer");
  EXPECT_LT(std::clock() - start, 6 * CLOCKS_PER_SEC);
}

TEST(TimedMessagesTest, AreReadAsTheyStand) {
  const auto messages = messages_of(three_times);
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[2].ranks, 4);
  EXPECT_EQ(messages[1].size, Bytes(2000));
  EXPECT_EQ(messages[1].time, Seconds(1.5e-4));
}

TEST(TimedMessagesTest, WithATimeOf0AreLeftOutWithANote) {
  const test::TemporaryFolder folder;
  for (const std::string_view zero : {"0", "0.0", "0e-3"}) {
    std::vector<std::string> notes;
    const auto messages = read_timed_messages(
        folder.write("all_reduce.csv", replaced(three_times, "2e-4", zero)), notes);
    EXPECT_EQ(messages.size(), 2U);
    ASSERT_EQ(notes.size(), 1U);
    expect_contains(notes.front(), "all_reduce.csv:4 has a time of 0");
  }
  expect_contains(config_error([] { (void)messages_of("ranks,bytes,time_s\n2,1000,0\n"); }),
                  "time_s is 0 in every line");
}

TEST(TimedMessagesTest, MayHaveAnyEndsOfLines) {
  for (const std::string_view end : {"\r", "\r\n", "\n"}) {
    std::string text(three_times);
    for (std::size_t at = text.find('\n'); at != std::string::npos;
         at = text.find('\n', at + end.size())) {
      text.replace(at, 1, end);
    }
    EXPECT_EQ(messages_of(text).size(), 3U);
  }
}

TEST(TimedMessagesTest, OfAnotherFormAreRefused) {
  for (const Damage& damage :
       {Damage{"4,1000", "1,1000", "all_reduce.csv:4: an all-reduce has 2 ranks or more"},
        Damage{"4,1000", "4,0", "bytes of 1 or more"}, Damage{"2e-4", "1e-308", "time_s of 1e-12"},
        Damage{"4,1000", "4.5,1000", "not a whole number"},
        Damage{"4,1000", "99999999999,1000", "not a whole number"},
        Damage{"ranks", "rank", "Did you mean \"ranks\"?"}}) {
    const std::string text = replaced(three_times, damage.from, damage.to);
    expect_contains(config_error([&] { (void)messages_of(text); }), damage.said);
  }
}

}  // namespace
}  // namespace dlscale
