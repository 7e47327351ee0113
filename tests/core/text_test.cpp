#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/display_width.hpp"
#include "core/base/printable.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/name_pattern.hpp"
#include "core/text/near_words.hpp"
#include "core/text/quantity_text.hpp"
#include "core/text/shell_words.hpp"
#include "core/text/size_text.hpp"
#include "core/text/time_text.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::expect_contains;

struct Shown {
  const char* text;
  std::size_t columns;
};

// Columns as the Unicode annexes 11 and 51 give them.
TEST(DisplayWidth, IsTheColumnsOfATerminal) {
  for (const Shown& each : std::initializer_list<Shown>{
           {"", 0},
           {"α = 1.5 µs", 10},
           {"é", 1},
           {"e\u0301", 1},         // a combining accent
           {"a\u200Bb\uFEFF", 2},  // of no width
           {"矩陣乘法", 8},
           {"行列積/256", 10},
           {"행렬곱", 6},
           {"\u1112\u1161\u11AB", 2},  // one syllable of three letters
           {"ｆｕｌｌ", 8},
           {"ﾊﾝｶｸ", 4},  // half-width
           {"🚀 fast", 7},
           {"👩‍🚀", 2},  // two emojis that a joiner makes one
           {"👍🏽", 2},     // with a tone of skin
           {"⚠", 1},
           {"⚠\uFE0F", 2},  // asked for as an emoji
           {"🇫🇷", 2},
           {"नमस्ते", 4},
           {"a\tb\x1b", 2},      // control characters
           {"\xff\xe4\xb8", 3},  // no UTF-8
       }) {
    EXPECT_EQ(display_width(each.text), each.columns) << each.text;
  }
}

TEST(DisplayWidth, BoundsATextThatIsCut) {
  for (const char* text :
       {"plain text", "矩陣乘法矩陣乘法", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301",
        "👩‍🚀👩‍🚀👩‍🚀"}) {
    for (std::size_t most = 0; most <= 20; ++most) {
      const std::string cut = cut_to_width(text, most);
      EXPECT_LE(display_width(cut), most) << cut;
      EXPECT_EQ(cut == text, display_width(text) <= most) << cut;
    }
  }
  EXPECT_EQ(cut_to_width("矩陣乘法", 6), "矩陣…");
}

template <class Q>
double quantity_text_parsed(std::string_view text) {
  return parse_quantity<Q>(text, "file: /key").si();
}

template <class Q>
std::string quantity_text_refusal(std::string_view text) {
  return test::config_error([&] { (void)parse_quantity<Q>(text, "file: /key"); });
}

TEST(ParseQuantity, KnowsBitsBytesAndBinaryPrefixes) {
  EXPECT_DOUBLE_EQ(quantity_text_parsed<BytesPerSecond>("25 GB/s"), 25e9);
  EXPECT_DOUBLE_EQ(quantity_text_parsed<BytesPerSecond>("25 Gb/s"), 25e9 / 8);
  EXPECT_DOUBLE_EQ(quantity_text_parsed<Bytes>("110 KiB"), 110 * 1024);
  EXPECT_DOUBLE_EQ(quantity_text_parsed<Bytes>("1.5 MB"), 1.5e6);
  EXPECT_DOUBLE_EQ(quantity_text_parsed<Seconds>("1.5 us"), 1.5e-6);
  EXPECT_DOUBLE_EQ(quantity_text_parsed<Seconds>("1.5 µs"), 1.5e-6);
  EXPECT_DOUBLE_EQ(quantity_text_parsed<Seconds>("1.5 min"), 90);
  EXPECT_DOUBLE_EQ(quantity_text_parsed<Seconds>("24 h"), 86400);
  EXPECT_DOUBLE_EQ(quantity_text_parsed<Seconds>("7 d"), 604800);
  EXPECT_DOUBLE_EQ(quantity_text_parsed<FlopsPerSecond>("11.76 TFLOP/s"), 11.76e12);
}

TEST(ParseQuantity, SpaceIsFree) {
  EXPECT_DOUBLE_EQ(quantity_text_parsed<Seconds>("  2ms "), 2e-3);
  EXPECT_DOUBLE_EQ(quantity_text_parsed<Bytes>("1e3\tB"), 1e3);
}

TEST(ParseQuantity, NumberWithoutUnitIsRefusedWithAnExample) {
  const std::string error = quantity_text_refusal<BytesPerSecond>("25");
  EXPECT_EQ(error, "file: /key is 25 (no unit). Write \"25 GB/s\" or \"25 Gb/s\".");
}

TEST(ParseQuantity, TheExampleIsNoSizeOrTimeThatCannotBe) {
  EXPECT_EQ(quantity_text_refusal<Bytes>("0"),
            "file: /key is 0 (it must be above 0). Write \"25 MB\" or \"25 MiB\".");
  EXPECT_EQ(quantity_text_refusal<Bytes>("1e30"),
            "file: /key is 1e30 (no unit). Write \"25 MB\" or \"25 MiB\".");
  EXPECT_EQ(quantity_text_refusal<Seconds>("-3"),
            "file: /key is -3 (negative). Write \"25 ms\" or \"25 us\".");
  EXPECT_EQ(quantity_text_refusal<Seconds>("0"),
            "file: /key is 0 (no unit). Write \"0 ms\" or \"0 us\".");
  EXPECT_EQ(
      quantity_text_refusal<Seconds>("7 moons"),
      "file: /key is 7 moons (\"moons\" is not a unit of a time). Write \"7 ms\" or \"7 us\".");
}

TEST(ParseQuantity, ARangeIsAnsweredWithValues) {
  expect_contains(quantity_text_refusal<Bytes>("64KiB:1MiB"),
                  "(a range). Write the values themselves, such as \"64KiB,128KiB,256KiB\".");
  expect_contains(quantity_text_refusal<Bytes>("8-1024"), "such as \"8B,16B,32B\"");
  expect_contains(quantity_text_refusal<Bytes>("8:128M"), "such as \"8B,16B,32B\"");
  expect_contains(quantity_text_refusal<Bytes>("1 MB to 8 MB"), "such as \"1MB,2MB,4MB\"");
  expect_contains(quantity_text_refusal<Bytes>("4B..4096B"), "such as \"4B,8B,16B\"");
  expect_contains(quantity_text_refusal<BytesPerSecond>("10-100Gbps"),
                  "such as \"10Gb/s,20Gb/s,40Gb/s\"");
  expect_contains(quantity_text_refusal<Seconds>("1-5 ms"), "such as \"1ms,2ms,4ms\"");
}

TEST(ParseQuantity, AGenerationOfInfiniBandIsAnsweredWithItsRate) {
  for (const auto& [text, rate] : {std::pair("HDR", "200 Gb/s"), std::pair("edr", "100 Gb/s"),
                                   std::pair("NDR", "400 Gb/s"), std::pair("QDR", "40 Gb/s")}) {
    expect_contains(quantity_text_refusal<BytesPerSecond>(text), rate);
  }
  expect_contains(quantity_text_refusal<Bytes>("HDR"), "(no number)");
}

TEST(ParseQuantity, OtherDimensionsAreRefused) {
  expect_contains(quantity_text_refusal<BytesPerSecond>("25 GB"),
                  "an amount of data, but a bandwidth is wanted");
  expect_contains(quantity_text_refusal<Bytes>("25 GB/s"),
                  "a bandwidth, but an amount of data is wanted");
  expect_contains(quantity_text_refusal<Seconds>("3 TFLOP/s"),
                  "a computing speed, but a time is wanted");
}

TEST(ParseQuantity, EverythingElseIsRefused) {
  for (const std::string_view text : {"", " ", "GB/s", "nan GB/s", "inf GB/s", "-inf GB/s",
                                      "1e309 GB/s", "1e308 TB/s", "25 GB/s x", "25 KB/s", "25 gb/s",
                                      "2 5 GB/s", "0x10 GB/s", "1,5 GB/s", "25 gbps", "1e GB/s"}) {
    expect_contains(quantity_text_refusal<BytesPerSecond>(text), "file: /key is ");
    expect_contains(quantity_text_refusal<BytesPerSecond>(text), "Write \"");
  }
}

TEST(ParseQuantity, TakesTheUnitsOfOtherTools) {
  for (const std::string_view text :
       {"10Gbps", "10 Gbit/s", "10 Gbits/sec", "10000 Mbps", "10000Mbit/s", "10000000 Kbps",
        "1.25 GBps", "1.25 GB/sec", "1250 MBytes/sec", "0.01 Tbps"}) {
    EXPECT_DOUBLE_EQ(quantity_text_parsed<BytesPerSecond>(text), 1.25e9) << text;
  }
  for (const std::string_view text :
       {"312 TFLOPS", "312TFLOPs", "312 Tflops", "312 TFLOPs/s", "0.312 PFLOPS", "312000 GFLOPS"}) {
    EXPECT_DOUBLE_EQ(quantity_text_parsed<FlopsPerSecond>(text), 312e12) << text;
  }
  for (const std::string_view text : {"50 usec", "50 microseconds", "50 μs", "0.05 msec"}) {
    EXPECT_DOUBLE_EQ(quantity_text_parsed<Seconds>(text), 50e-6) << text;
  }
  EXPECT_DOUBLE_EQ(quantity_text_parsed<Seconds>("7 days"), 604800);
  EXPECT_DOUBLE_EQ(quantity_text_parsed<Seconds>("2 hours"), 7200);
  EXPECT_DOUBLE_EQ(quantity_text_parsed<Bytes>("4096 bytes"), 4096);
}

TEST(ParseQuantity, NamesEveryUnitThatAWordMayMean) {
  for (const auto& [text, said] : {std::pair("4 KB", "Write \"4 kB\" or \"4 KiB\""),
                                   std::pair("4K", "Write \"4 kB\" or \"4 KiB\""),
                                   std::pair("128M", "Write \"128 MB\" or \"128 MiB\""),
                                   std::pair("2G", "Write \"2 GB\" or \"2 GiB\""),
                                   std::pair("1,024 MB", "Write \"1024 MB\" or \"1.024 MB\""),
                                   std::pair("4 mib", "Write \"4 MiB\"")}) {
    expect_contains(quantity_text_refusal<Bytes>(text), said);
  }
  expect_contains(quantity_text_refusal<BytesPerSecond>("10 gb/s"),
                  "Write \"10 Gb/s\" or \"10 GB/s\"");
  expect_contains(quantity_text_refusal<BytesPerSecond>("100 gbps"),
                  "Write \"100 Gb/s\" or \"100 GB/s\"");
  for (const std::string_view text : {"100GbE", "100 Gbit"}) {
    expect_contains(quantity_text_refusal<BytesPerSecond>(text), "Write \"100 Gb/s\".");
  }
  // A large number without a unit counts bytes in other tools.
  expect_contains(quantity_text_refusal<Bytes>("26214400"), "Write \"26214400 B\".");
  expect_contains(quantity_text_refusal<Bytes>("64Ki"), "Write \"64 KiB\".");
}

TEST(ParseQuantity, SaysWhyANumberIsNone) {
  expect_contains(quantity_text_refusal<Bytes>("-1e20 B"), "(it must be above 0)");
  expect_contains(quantity_text_refusal<Seconds>("-5 us"), "(negative)");
  expect_contains(quantity_text_refusal<Seconds>("1e-999 s"), "(too small)");
  const auto whole = [](std::string_view text) {
    return test::config_error([&] { (void)parse_whole_elements(text, "--sizes", 4, "f32"); });
  };
  EXPECT_EQ(parse_whole_elements("64 KiB", "--sizes", 4, "f32"), 65536);
  expect_contains(whole("9999TiB"), "(more than any memory holds)");
  expect_contains(whole("6 B"), "(not a whole number of f32 of 4 B each)");
  expect_contains(whole("2 B"), "(less than 4 B)");
  for (const char* text : {"0", "0 B", "0KiB", "-1", "-4 B", "-1 MB"}) {
    expect_contains(whole(text), "(it must be above 0)");
  }
  for (const char* text : {"0", "-1", "-10Gb/s", "-0.5 GB/s"}) {
    expect_contains(quantity_text_refusal<BytesPerSecond>(text), "(it must be above 0)");
  }
}

TEST(ParseQuantity, AnswersOtherWritingsWithTheRightOne) {
  EXPECT_DOUBLE_EQ(quantity_text_parsed<BytesPerSecond>("10 GBit/s"), 1.25e9);
  expect_contains(quantity_text_refusal<BytesPerSecond>("HDR100"), "Write \"100 Gb/s\".");
  expect_contains(quantity_text_refusal<BytesPerSecond>("ndr200"), "Write \"200 Gb/s\".");
  expect_contains(quantity_text_refusal<BytesPerSecond>("HDR"),
                  "Write \"200 Gb/s\", for four lanes");
  for (const char* text : {"10Gb/s;25Gb/s", "10Gb/s 25Gb/s", "10Gb/s|25Gb/s", "10Gb/s/25Gb/s"}) {
    expect_contains(quantity_text_refusal<BytesPerSecond>(text), "\"10Gb/s,25Gb/s\"");
  }
  expect_contains(quantity_text_refusal<Seconds>("1:30:00"), "Write \"5400 s\".");
  expect_contains(quantity_text_refusal<Seconds>("24:00"), "Write \"86400 s\".");
}

/// The work to compile a pattern grows faster than its size.
TEST(NamePattern, IsRefusedIfItIsLong) {
  EXPECT_TRUE(NamePattern("--only", std::string(4096, 'a')).is_in(std::string(4096, 'a')));
  test::expect_contains(
      test::config_error([] { NamePattern("--only", std::string(4097, '?')); }),
      "--only: a regular expression has at most 4096 bytes, and this one has 4097.");
}

TEST(NearWords, NamesAllThatBeginSoAndNoneWithOtherNumbers) {
  const std::vector<std::string> words{"h100_pcie", "h100_sxm", "h200_sxm",
                                       "a100_sxm4", "a30",      "resnet50"};
  using Words = std::vector<std::string>;
  EXPECT_EQ(near_words("H100", words), (Words{"h100_pcie", "h100_sxm"}));
  EXPECT_EQ(near_words("a100_", words), Words{"a100_sxm4"});
  EXPECT_EQ(near_words("A10", words), Words{});
  EXPECT_EQ(near_words("a40", words), Words{});
  EXPECT_EQ(near_words("resnet5O", words), Words{"resnet50"});
  EXPECT_EQ(near_words("resnte50", words), Words{"resnet50"});
  EXPECT_EQ(near_words("resnet101", words), Words{});
  const std::vector<std::string> keys{"ranks", "ranks_per_node", "nodes", "several_nodes"};
  EXPECT_EQ(near_words("rank", keys), Words{"ranks"});
  EXPECT_EQ(near_words("node", keys), Words{"nodes"});
  EXPECT_EQ(did_you_mean(near_words("h100", words)),
            "Did you mean \"h100_pcie\" or \"h100_sxm\"? ");
}

TEST(ParseTime, TakesWhatGitAndDatePrint) {
  constexpr std::int64_t noon = 1'769'857'200;  // 2026-01-31T11:00:00Z
  for (const std::string_view text : {"2026-01-31T12:00:00+01:00",
                                      "2026-01-31T12:00:00+0100",
                                      "2026-01-31 12:00:00 +0100",
                                      "2026-01-31 12:00:00+01:00",
                                      "Sat Jan 31 12:00:00 2026 +0100",
                                      "Sat, 31 Jan 2026 12:00:00 +0100",
                                      "Date:   Sat Jan 31 12:00:00 2026 +0100",
                                      "Sat Jan 31 11:00:00 UTC 2026",
                                      "Sat Jan 31 12:00:00 CET 2026",
                                      "Sat Jan 31 11:00:00 AM UTC 2026",
                                      "Sat 31 Jan 2026 11:00:00 AM UTC",
                                      "Sat, 31 Jan 2026 11:00:00 GMT",
                                      "@1769857200",
                                      "1769857200",
                                      "1769857200 +0100",
                                      "2026-01-31T11:00:00.123456Z",
                                      "2026-01-31T12:00:00,123456789+01:00",
                                      "2026-01-31 11:00:00 UTC",
                                      "2026-01-31t11:00:00z",
                                      "20260131T110000Z",
                                      "20260131T120000+0100",
                                      "2026-01-31T11:00Z",
                                      "2026-01-31 12:00 +0100"}) {
    EXPECT_EQ(parse_time(text, "--time"), noon) << text;
  }
  EXPECT_EQ(parse_time("Thu Jan 1 12:30:00 PM UTC 2026", "--time"),
            parse_time("2026-01-01T12:30:00Z", ""));
  EXPECT_EQ(parse_time("Thu Jan  1 12:30:00 AM UTC 2026", "--time"),
            parse_time("2026-01-01T00:30:00Z", ""));
  EXPECT_EQ(parse_since("2.weeks.ago", "--since", noon), noon - 14 * 86400);
  EXPECT_EQ(parse_since("2 weeks ago", "--since", noon), noon - 14 * 86400);
}

TEST(ParseTime, SaysWhatATimeLacks) {
  for (const auto& [text, why] :
       {std::pair("2026-01-31 12:00:00", "has no time zone"),
        std::pair("Sat Jan 31 12:00:00 2026", "has no time zone"),
        std::pair("Sat Jan 31 12:00:00 CST 2026", "names the zone CST"),
        std::pair("Jan 31 2026", "has no time of day"), std::pair("12:00:00 +0100", "has no date"),
        std::pair("Mon Feb 30 12:00:00 2026 +0000", "not a day of the calendar"),
        std::pair("soon", "is not a time"), std::pair("31/01/2026", "is not a time"),
        std::pair("", "is not a time"), std::pair("2026-01-31T12:00:00Z +0100", "is not a time"),
        std::pair("13:00:00 PM UTC 31 Jan 2026", "half a day"),
        std::pair("@99999999999999", "is not a time"), std::pair("2026", "has no date"),
        std::pair("2026-01-31T10:00:60Z", "has a 60"), std::pair("20260131T100060Z", "has a 60"),
        std::pair("Sat Jan 31 10:60:00 2026 +0100", "has a 60"),
        std::pair("1769857200000", "milliseconds since 1970 (in seconds 1769857200)"),
        std::pair("@1769857200000000", "microseconds"),
        std::pair("1769857200000000000", "nanoseconds")}) {
    expect_contains(test::config_error(
                        [&, word = std::string_view(text)] { (void)parse_time(word, "--time"); }),
                    why);
  }
}

TEST(QuantityText, HasThreeOrFourDigitsAndTheFittingPrefix) {
  EXPECT_EQ(to_text(Seconds(1.2344e-3)), "1.234 ms");
  EXPECT_EQ(to_text(Seconds(0)), "0 ns");
  EXPECT_EQ(to_text(BytesPerSecond(0.125)), "0.125 B/s");
  EXPECT_EQ(to_text(BytesPerSecond(0.0625)), "0.0625 B/s");
  EXPECT_EQ(to_text(Seconds(61.5)), "61.50 s");
  EXPECT_EQ(to_text(Seconds(-2.5e-6)), "-2.500 us");
  EXPECT_EQ(to_text(Seconds(123456789012345.0)), "123456789012345 s");
  EXPECT_EQ(to_text(Seconds(-2.5e300)), "-2.500e+300 s");
  EXPECT_EQ(to_text(Bytes(97.5 * 1024 * 1024)), "97.5 MiB");
  EXPECT_EQ(to_text(Bytes(512)), "512 B");
  EXPECT_EQ(to_text(Bytes(1010 * 1024)), "1010 KiB");
  EXPECT_EQ(to_text(BytesPerSecond(12.34e9)), "12.3 GB/s");
  EXPECT_EQ(to_text(FlopsPerSecond(11.76e12)), "11.8 TFLOP/s");
}

TEST(QuantityText, DataAreFewerThanAWholeNumberCanCount) {
  EXPECT_EQ(quantity_text_parsed<Bytes>("8.9e15 B"), 8.9e15);
  for (const char* text : {"9999TiB", "10 PB", "9e15 B", "9e18 B", "8 PiB"}) {
    expect_contains(quantity_text_refusal<Bytes>(text), "more than any memory holds");
  }
  for (const char* text :
       {"9223372036854775808 B", "9999999999999 TB", "1e300 TiB", "1e999 B", "9999 PiB"}) {
    expect_contains(quantity_text_refusal<Bytes>(text), "too large");
  }
  EXPECT_EQ(quantity_text_parsed<FlopsPerSecond>("9e18 TFLOP/s"), 9e30);
}

TEST(QuantityText, SlipsOfThePenAreRefused) {
  EXPECT_EQ(quantity_text_parsed<Seconds>("0 s"), 0);
  EXPECT_EQ(quantity_text_parsed<BytesPerSecond>("0.001 B/s"), 1e-3);
  expect_contains(quantity_text_refusal<Seconds>("1e-308 us"), "too small");
  expect_contains(quantity_text_refusal<Seconds>("1e12 s"), "too large");
  expect_contains(quantity_text_refusal<Bytes>("1e-9 B"), "too small");
  expect_contains(quantity_text_refusal<BytesPerSecond>("1e-308 GB/s"), "too small");
  expect_contains(quantity_text_refusal<BytesPerSecond>("1e9 GB/s"), "too large");
  expect_contains(quantity_text_refusal<FlopsPerSecond>("1e-9 FLOP/s"), "too small");
}

TEST(QuantityText, RoundingUpCarriesIntoTheNextPrefix) {
  EXPECT_EQ(to_text(Seconds(0.99999e-3)), "1.000 ms");
  EXPECT_EQ(to_text(Seconds(9.99996e-3)), "10.00 ms");
  EXPECT_EQ(to_text(BytesPerSecond(999.9e6)), "1.00 GB/s");
}

TEST(QuantityText, ReadsBackWithinItsDigits) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> exponent(-9, 3);
  for (int i = 0; i < 2000; ++i) {
    const double seconds = std::pow(10, exponent(random));
    EXPECT_NEAR(quantity_text_parsed<Seconds>(to_text(Seconds(seconds))) / seconds, 1, 5.1e-4);
    const double bytes = seconds * 1e11;
    EXPECT_NEAR(quantity_text_parsed<Bytes>(to_text(Bytes(bytes))) / bytes, 1, 5.1e-3);
    EXPECT_NEAR(quantity_text_parsed<BytesPerSecond>(to_text(BytesPerSecond(bytes))) / bytes, 1,
                5.1e-3);
  }
}

TEST(ShellWords, LeaveWhatNoShellChanges) {
  EXPECT_EQ(shell_word("/opt/dlscale"), "/opt/dlscale");
  EXPECT_EQ(shell_word("--sizes=1,2:3+4@5%_"), "--sizes=1,2:3+4@5%_");
  EXPECT_EQ(shell_line(std::vector<std::string>{"dlscale", "bench", "comm"}), "dlscale bench comm");
  EXPECT_EQ(shell_line({}), "");
}

TEST(ShellWords, QuoteWhatAShellWouldChange) {
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("allreduce.{1,9}2"), "'allreduce.{1,9}2'");
  EXPECT_EQ(shell_word("a^b"), "'a^b'");
  EXPECT_EQ(shell_word("a!b"), "'a!b'");
  EXPECT_EQ(shell_word("=ls"), "'=ls'");
  EXPECT_EQ(shell_word("ä"), "'ä'");
}

/// What bash makes of a line: its words, a zero after each.
std::string read_by_bash(const std::string& line) {
  std::FILE* pipe = ::popen(("exec bash -c " + shell_word("printf '%s\\0' " + line)).c_str(), "r");
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(::pclose(pipe), 0) << line;
  return text;
}

TEST(ShellWords, AreReadBackByBash) {
  std::vector<std::string> words{"allreduce.{1,9}2",
                                 "{a..c}",
                                 "~",
                                 "a=~",
                                 "$HOME",
                                 "`id`",
                                 "a\nb",
                                 "\\",
                                 "*",
                                 "[a]",
                                 "#",
                                 "!!"};
  for (char c = 1; c < 127; ++c) {  // alone, within and in front
    words.emplace_back(1, c);
    words.push_back(std::string("a") + c + "b");
    words.push_back(c + std::string("b,c}"));
  }
  std::string expected;
  for (const std::string& word : words) expected += word + '\0';
  EXPECT_EQ(read_by_bash(shell_line(words)), expected);
}

TEST(ShownText, IsOneLine) {
  EXPECT_EQ(escape_for_terminal("a word"), "a word");
  EXPECT_EQ(escape_for_terminal("a\nb\tc\x01\x7f"), "a\\nb\\tc\\x01\\x7f");
  EXPECT_EQ(escape_for_terminal(""), "");
}

TEST(ShownText, HasNoControlCharactersOfUnicode) {
  EXPECT_EQ(escape_for_terminal("a\xc2\x85z"), "a\\u0085z");
  EXPECT_EQ(escape_for_terminal("\xc2\x80\xc2\x9f\xc2\xa0"), "\\u0080\\u009f\xc2\xa0");
  EXPECT_EQ(escape_for_terminal("\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6"), "\\u2028\\u202e\\u2066");
  EXPECT_EQ(escape_for_terminal("… ä €"), "… ä €");
  EXPECT_EQ(escape_for_terminal("\xc2"), "\\xc2");
  EXPECT_EQ(escape_for_terminal("\x9b[31m"), "\\x9b[31m");
  EXPECT_TRUE(is_plain_line("… ä €"));
  EXPECT_FALSE(is_plain_line("a\xc2\x9bz"));
  EXPECT_FALSE(is_plain_line("a\nz"));
}

TEST(PrintableText, ShowsWhatActsOnATerminalOrDeceivesAsBlanks) {
  const std::vector<const char*> unsafe{
      "\x1b",              // ESC
      "\x7f",              // DEL
      "\xc2\x9b",          // U+009B, the 8-bit CSI
      "\xc2\x9d",          // U+009D, the 8-bit OSC
      "\xc2\xad",          // soft hyphen
      "\xd8\x9c",          // U+061C
      "\xe2\x80\x8b",      // zero-width space
      "\xe2\x80\x8d",      // zero-width joiner
      "\xe2\x80\x8f",      // right-to-left mark
      "\xe2\x80\xa9",      // paragraph separator
      "\xe2\x80\xae",      // right-to-left override
      "\xe2\x81\xa6",      // left-to-right isolate
      "\xe2\x81\xa3",      // invisible separator
      "\xef\xbb\xbf",      // byte order mark
      "\xf3\xa0\x81\x81",  // a tag
  };
  for (const std::string each : unsafe) {
    EXPECT_EQ(printable("a" + each + "z"), "a z");
    EXPECT_EQ(escape_unprintable(each).front(), '\\');
    EXPECT_FALSE(is_plain_line(each));
  }
}

TEST(PrintableText, ReplacesWhatIsNoUtf8) {
  const std::string odd = "\xEF\xBF\xBD";
  EXPECT_EQ(printable("a\tb\né × 漢 😀 \u0600"), "a b é × 漢 😀 \u0600");
  EXPECT_EQ(printable("\xff"), odd);
  EXPECT_EQ(printable("\x9b"), odd);
  EXPECT_EQ(printable("\xc3"), odd);
  EXPECT_EQ(printable("\xc0\xaf"), odd + odd);
  EXPECT_EQ(printable("\xed\xa0\x80"), odd + odd + odd);  // a surrogate
  EXPECT_EQ(printable("\xef\xbf\xbf"), odd + odd + odd);  // U+FFFF
}

TEST(ShownText, IsCutBetweenCharacters) {
  EXPECT_EQ(escape_for_terminal(std::string(120, 'a')), std::string(120, 'a'));
  EXPECT_EQ(escape_for_terminal(std::string(121, 'a')), std::string(120, 'a') + "…");
  // ä has two bytes; the 120th byte is the first half of one.
  std::string text = std::string(119, 'a') + "ää";
  EXPECT_EQ(escape_for_terminal(text), std::string(119, 'a') + "…");
}

}  // namespace
}  // namespace dlscale
