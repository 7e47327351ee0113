#include "regression/history/series_key.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/base/error.hpp"
#include "histories.hpp"

namespace dlscale::report::history {
namespace {

// FIPS 180-4's examples, and a content of many blocks (a million times "a").
TEST(Sha256, AgreesWithThePublishedExamples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(SeriesKey, ComesBackFromItsText) {
  SeriesKey key = samples::kernel();
  key.axes["odd \"name\"\n"] = "ü, =, \\";
  key.direction = Direction::steady;
  EXPECT_EQ(parse_series_key(key.text()), key);
  EXPECT_EQ(key.text().find('\n'), std::string::npos);
}

TEST(SeriesKey, AnyDifferenceMakesAnotherSeries) {
  std::set<std::string> ids{samples::kernel().id()};
  const auto expect_other = [&](auto change) {
    SeriesKey key = samples::kernel();
    change(key);
    EXPECT_TRUE(ids.insert(key.id()).second) << key.text();
  };
  expect_other([](SeriesKey& key) { key.suite = "gemm"; });
  expect_other([](SeriesKey& key) { key.axes["batch"] = "16"; });
  expect_other([](SeriesKey& key) { key.metric = "give"; });
  expect_other([](SeriesKey& key) { key.unit = "1"; });
  expect_other([](SeriesKey& key) { key.direction = Direction::larger_is_better; });
  expect_other([](SeriesKey& key) { key.machine["cores"] = "4"; });
  expect_other([](SeriesKey& key) { key.environment["oneDNN"] = "3.0"; });
  expect_other([](SeriesKey& key) { key.launch["ranks"] = "2"; });
}

TEST(SeriesKey, AsksTheSameQuestionInAnyEnvironment) {
  SeriesKey key = samples::kernel();
  key.environment["oneDNN"] = "3.0";
  EXPECT_EQ(key.question(), samples::kernel().question());
  EXPECT_NE(key.environment_id(), samples::kernel().environment_id());
  EXPECT_EQ(differences(samples::kernel().environment, key.environment), "oneDNN: 2.6.3 → 3.0");
}

TEST(SeriesKey, HasANameThatEveryFileSystemTakes) {
  SeriesKey key = samples::kernel();
  key.suite = "../Google Benchmark/ü";
  const std::string stem = key.file_stem();
  EXPECT_EQ(stem.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_"), std::string::npos);
  EXPECT_TRUE(stem.ends_with(key.id()));
}

TEST(SeriesKey, RefusesWhatIsNone) {
  EXPECT_THROW((void)parse_series_key("{}"), ConfigError);
  EXPECT_THROW((void)parse_series_key("[]"), ConfigError);
  EXPECT_THROW((void)parse_series_key("{\"suite\":"), ConfigError);
  std::string text = samples::kernel().text();
  EXPECT_THROW((void)parse_series_key(text.replace(text.find("smaller"), 7, "best...")),
               ConfigError);
  text = samples::kernel().text();
  EXPECT_THROW((void)parse_series_key(text.replace(0, 1, "{\"colour\":\"red\",")), ConfigError);
}

}  // namespace
}  // namespace dlscale::report::history
