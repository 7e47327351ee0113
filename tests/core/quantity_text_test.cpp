#include "core/text/quantity_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/text/size_text.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::expect_contains;

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

TEST(ParseQuantity, AnswersMarksInNumbers) {
  for (const auto& [text, said] : {std::pair("1,000 MB/s", "Write \"1000 MB/s\"."),
                                   std::pair("1.000,5 MB/s", "Write \"1000.5 MB/s\"."),
                                   std::pair("1,000.5 MB/s", "Write \"1000.5 MB/s\"."),
                                   std::pair("1.000.000 kb/s", "Write \"1000000 kb/s\"."),
                                   std::pair("1'000 MB/s", "Write \"1000 MB/s\"."),
                                   std::pair("1 000 MB/s", "Write \"1000 MB/s\"."),
                                   std::pair("12,5 GB/s", "Write \"12.5 GB/s\"."),
                                   std::pair("8,16,32 GB/s", "Write \"8 GB/s\"."),
                                   std::pair("10 25 Gb/s", "\"10Gb/s,25Gb/s\"")}) {
    expect_contains(quantity_text_refusal<BytesPerSecond>(text), said);
  }
  expect_contains(quantity_text_refusal<Bytes>("26,214,400"), "Write \"26214400 B\".");
  expect_contains(quantity_text_refusal<Bytes>("26_214_400"), "Write \"26214400 B\".");
}

TEST(ParseQuantity, AnswersTheWordsOfNetworks) {
  for (const std::string_view text : {"10 Gb / s", "10 Gb/ s", "10 gigabits per second",
                                      "10 Gigabit/s", "10 Gb per second", "10\u00a0Gbit/s"}) {
    EXPECT_DOUBLE_EQ(quantity_text_parsed<BytesPerSecond>(text), 1.25e9) << text;
  }
  EXPECT_DOUBLE_EQ(quantity_text_parsed<BytesPerSecond>("8 Gib/s"), 0x1p30);
  for (const std::string_view text : {"200GigE", "200 gigabit", "200GE", "200GBASE-CR4", "200 Gb",
                                      "200 Gigabit Ethernet", "200G Ethernet"}) {
    expect_contains(quantity_text_refusal<BytesPerSecond>(text), "Write \"200 Gb/s\".");
  }
  expect_contains(quantity_text_refusal<BytesPerSecond>("200G"),
                  "Write \"200 Gb/s\" or \"200 GB/s\".");
  expect_contains(quantity_text_refusal<BytesPerSecond>("12.5e9"),
                  "Write \"12.5e9 B/s\" or \"12.5e9 b/s\".");
  expect_contains(quantity_text_refusal<FlopsPerSecond>("312e12"), "Write \"312e12 FLOP/s\".");
  expect_contains(quantity_text_refusal<Seconds>("5e-6"), "Write \"5e-6 s\".");
}

/// The sentence that refuses a text; empty if it is taken.
template <class Q>
std::string refusal_if_any(std::string_view text) {
  try {
    (void)parse_quantity<Q>(text, "it");
    return {};
  } catch (const ConfigError& error) {
    return error.what();
  }
}

/// Reads every quoted value behind "Write ".
template <class Q>
void expect_advice_is_taken(std::string_view text) {
  const std::string refusal = refusal_if_any<Q>(text);
  if (refusal.empty()) return;
  const std::size_t write = refusal.rfind("Write ");
  ASSERT_NE(write, std::string::npos) << text;
  int values = 0;
  for (std::size_t at = refusal.find('"', write); at < refusal.size();
       at = refusal.find('"', refusal.find('"', at + 1) + 1)) {
    std::istringstream list(refusal.substr(at + 1, refusal.find('"', at + 1) - at - 1));
    for (std::string value; std::getline(list, value, ','); ++values) {
      EXPECT_EQ(refusal_if_any<Q>(value), "") << refusal;
    }
  }
  EXPECT_GT(values, 0) << refusal;
}

TEST(ParseQuantity, TakesWhatItAdvises) {
  const std::array numbers{"25",    "0",     "-1",        "1e30",    "12.5e9", "5e-6",  "1,5",
                           "1,000", "1.0,5", "1,048,576", "1 000",   "1_000",  "1'000", "8,16",
                           "1-8",   "8:64",  "1;2",       "1 2",     "0,5",    "x",     "",
                           "1e999", "007",   "0.000,1",   "1.2.3",   "1e-999", "nan",   "1/2"};
  const std::array units{"",     "K",   "KB",    "M",   "Mi",     "Gb",      "G",       "GigE", "gb/s",
                         "GBPS", "KBs", "bytes", "sec", "parsec", "FLOPS/W", "GBase-T", "MBIT", "T"};
  for (const std::string_view number : numbers) {
    for (const std::string_view unit : units) {
      const std::string text = fmt::format("{} {}", number, unit);
      expect_advice_is_taken<Bytes>(text);
      expect_advice_is_taken<BytesPerSecond>(text);
      expect_advice_is_taken<FlopsPerSecond>(text);
      expect_advice_is_taken<Seconds>(text);
    }
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

}  // namespace
}  // namespace dlscale
