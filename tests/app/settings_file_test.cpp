#include "app/settings_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "app/command_tree.hpp"
#include "app/settings_in_effect.hpp"
#include "app/settings_line.hpp"
#include "core/error.hpp"

namespace dlscale::app {
namespace {

using testing::HasSubstr;

/// What is said of a file that holds `text`; empty if nothing.
std::string refusal_of(const std::string& text) {
  static CommandTree tree;
  tree.declare_all();
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("dlscale-refused-{}.yaml", ::getpid());
  std::ofstream(file, std::ios::binary) << text;
  std::string said;
  try {
    SettingsFile(file).check(tree.root());
  } catch (const ConfigError& error) {
    said = error.what();
    EXPECT_THAT(said, HasSubstr(file.filename().string()));
  }
  std::filesystem::remove(file);
  return said;
}

std::string many(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

struct Refused {
  std::string text;
  std::string said;
};

TEST(SettingsFile, RefusesWhateverItCannotBe) {
  const std::string ended = "here the file's first document has ended";
  const std::vector<Refused> refused{
      {"gate: {help: true}\n", ":1: /gate/help sets nothing: --help can only be typed"},
      {"version: 1\n", ":1: /version sets nothing: --version can only be typed"},
      {"---\n---\ngate: {rounds: 9}\n", ":2: " + ended},
      {"gate: {rounds: 9}\n...\n# more\n---\n", ":4: " + ended},
      {"{gate: {rounds: 9}}\n{bench: {}}\n", ":2: " + ended},
      {"gate: {rounds: \"9\\0\"}\n", ":1: /gate/rounds is \"9\\x00\" (with a zero byte"},
      {"gate: {base: [a, \"b\\0\"]}\n", ":1: /gate/base is a list (with a zero byte"},
      {"gate: {base: [a, ~]}\n", "/gate/base is a list (holds more than words)"},
      {"gate: " + many(10'000, "["), ":1: this is nested"},
      {"gate: " + many(10'000, "{a: "), ":1: this is nested"},
      {"gate: &a {base: *a}\n", "/gate/base is a mapping"},
      {"gate:\n  base: &a [*a, *a]\n", "/gate/base is a list (holds more than words)"},
      {"x: &x {rounds: 9}\ngate: {<<: *x}\n", "/x is not a known key"},
      {"gate: {<<: {rounds: 9}}\n", "/gate/<< is not a known key"},
      {"gate: {samples: 5}\n", "/gate/samples is not a known key"},
      {"\"ga\\nte\": {}\n", "/ga\\nte is not a known key"},
      {"gate:\n\trounds: 9\n", "this is not YAML"},
      {"gate: *nowhere\n", "this is not YAML"},
      {"%YAML 9.9\n---\ngate:\n", "this is not YAML"},
      {"gate: {canary: yes}\n", "Write true or false"},
      {"gate: {? [a] : b}\n", "a key that is a list"}};
  for (const auto& [text, said] : refused) EXPECT_THAT(refusal_of(text), HasSubstr(said)) << text;
}

TEST(SettingsFile, TakesOneDocumentHoweverItIsWritten) {
  for (const char* text : {"---\ngate: {rounds: 9}\n...\n", "%YAML 1.2\n---\ngate: {rounds: 9}\n",
                           "\xef\xbb\xbfgate: {rounds: 9}\r\n", "gate: !any {rounds: !!str 9}\n",
                           "gate: &a {rounds: &b 9, seed: *b}\n", "gate: {base: \"\xff\xfe\"}\n"}) {
    EXPECT_EQ(refusal_of(text), "") << text;
  }
}

TEST(WhereOptionsAreSet, IsToldBesideTheirLetters) {
  const std::vector<SetElsewhere> set{{.name = "--output",
                                       .letter = "-o",
                                       .value = "bencher=k.json",
                                       .place = "dlscale.yaml:2",
                                       .words = {"--output=bencher=k.json"}}};
  EXPECT_EQ(with_places("every -o names a format of its own.", set),
            "every -o (set by dlscale.yaml:2) names a format of its own.");
  EXPECT_EQ(with_places("-out is no option.", set), "-out is no option.");
}

}  // namespace
}  // namespace dlscale::app
