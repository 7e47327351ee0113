#include "core/system/output_file.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::TemporaryFolder;

bool is_poem(std::istream& content) {
  std::string line;
  std::getline(content, line);
  return line == "Poem";
}

TEST(RefuseForeignFile, NamesTheFileAndWhatItShouldHaveBeen) {
  const TemporaryFolder folder;
  const auto thesis = folder.write("thesis.tex", "years of work");
  const std::string error =
      test::config_error([&] { refuse_foreign_file(thesis, "a poem", is_poem); });
  EXPECT_EQ(error, thesis.string() +
                       " is there and is not a poem, so it is not overwritten. Choose another "
                       "name, or remove it if nobody needs it.");
}

TEST(RefuseForeignFile, LetsItsOwnKindAndNothingPass) {
  const TemporaryFolder folder;
  const auto no_kind = [](std::istream&) { return false; };
  EXPECT_NO_THROW(refuse_foreign_file(folder.write("poem", "Poem\n"), "a poem", is_poem));
  EXPECT_NO_THROW(refuse_foreign_file(folder.write("empty", ""), "a poem", no_kind));
  EXPECT_NO_THROW(refuse_foreign_file(folder.path() / "missing", "a poem", no_kind));
  EXPECT_NO_THROW(refuse_foreign_file("/dev/null", "a poem", no_kind));
}

bool opens(const std::string& text) {
  std::istringstream content(text);
  return opens_with_schema(content, "dlscale.machine");
}

TEST(OpensWithSchema, LooksAtTheFirstKeyAlone) {
  EXPECT_TRUE(opens("{\"schema\": \"dlscale.machine\", \"version\": 1}"));
  EXPECT_TRUE(opens("\n{\n  \"schema\" : \"dlscale.machine\""));
  EXPECT_FALSE(opens("{\"schema\": \"dlscale.machines\"}"));
  EXPECT_FALSE(opens("{\"schema\": \"dlscale.mach"));
  EXPECT_FALSE(opens("{\"of\": {\"schema\": \"dlscale.machine\"}}"));
  EXPECT_FALSE(opens("\xff\xfe"));
  EXPECT_FALSE(opens(""));
}

}  // namespace
}  // namespace dlscale
