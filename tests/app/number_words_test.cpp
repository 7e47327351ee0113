#include "app/cli/number_words.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/size_text.hpp"
#include "tests/core/support.hpp"

namespace dlscale::app {
namespace {

using Advice = std::pair<std::string_view, std::string_view>;

TEST(NumbersAsOtherToolsWriteThem, GetAdviceWithTheRightNumber) {
  constexpr std::array cases{Advice{"2-256", "Write 2..256:x2"},
                             Advice{"1:8", "Write 1..8:x2"},
                             Advice{"1 - 8", "Write 1..8:x2"},
                             Advice{"2–16", "Write 2..16:x2"},
                             Advice{"1 to 8", "Write 1..8:x2"},
                             Advice{"1 2 4", "Write 1,2,4"},
                             Advice{"1;2;4", "Write 1,2,4"},
                             Advice{"[1", "Write 1"},
                             Advice{"(1, 2)", "Write 1,2"},
                             Advice{"32x8", "Write 256"},
                             Advice{"4*8", "Write 32"},
                             Advice{"2^10", "Write 1024"},
                             Advice{"2**4", "Write 16"},
                             Advice{"1k", "Write 1000 or 1024"},
                             Advice{"2M", "Write 2000000 or 2097152"},
                             Advice{"64Ki", "Write 65536"},
                             Advice{"8x", "Write 8"},
                             Advice{"x8", "Write 8"},
                             Advice{"8 GPUs", "Write 8"},
                             Advice{"16ranks", "Write 16"},
                             Advice{"1_000", "Write 1000"},
                             Advice{"1'000", "Write 1000"},
                             Advice{"1 000", "Write 1000"},
                             Advice{"1,000,000", "Write 1000000"},
                             Advice{"1,5", "Write 1.5, or 15"},
                             Advice{"1e3", "Write 1000"},
                             Advice{"8.0", "Write 8"},
                             Advice{"+8", "Write 8"},
                             Advice{"$500", "Write 500"},
                             Advice{"$1,500", "Write 1500"},
                             Advice{"€2.50", "Write 2.50"},
                             Advice{"2€", "Write 2"},
                             Advice{"500 USD", "Write 500"},
                             Advice{"024", "write 1,024 as 1024"}};
  for (const auto& [text, advice] : cases) {
    const std::string got = advice_on_number(text, Numbers::several);
    EXPECT_NE(got.find(advice), std::string::npos) << text << ": " << got;
  }
}

TEST(NumbersAsOtherToolsWriteThem, AreOneWhereOneIsTaken) {
  for (const char* text : {"2-256", "1:8", "1 2 4", "1;2"}) {
    EXPECT_TRUE(advice_on_number(text, Numbers::one).ends_with("one number is taken. Write one"))
        << text;
  }
}

TEST(NumbersAsOtherToolsWriteThem, GetNoAdviceThatMisleads) {
  const std::string long_number(400, '9');
  for (const std::string& text :
       {std::string("8"), std::string("0"), std::string("-1"), std::string("1.5"),
        std::string("abc"), std::string(), std::string("10s"), std::string("5m"),
        std::string("0x10"), std::string("nan"), std::string("1-2:3"), "2^" + long_number,
        long_number, std::string("v1.5"), std::string("8e"), std::string("3-")}) {
    EXPECT_EQ(advice_on_number(text, Numbers::several), "") << text;
  }
}

TEST(CommasInNumbers, AreTakenForNoSeparators) {
  using Items = std::vector<std::string>;
  const auto said = [](const Items& items) {
    return test::config_error([&] { refuse_commas_in_numbers("--sizes", items); });
  };
  test::expect_contains(said({"4", "096KiB"}), "Write 4096KiB or 4.096KiB.");
  test::expect_contains(said({"1", "048", "576 B"}),
                        "Write 1048576 B.");
  test::expect_contains(said({"1", "000 MB/s"}), "Write 1000 MB/s.");
  test::expect_contains(said({"1.000", "5 MB/s"}), "Write 1000.5 MB/s for one value");
  test::expect_contains(said({"26", "214", "400 B"}), "Write 26214400 B for one value, or 26 B,");
  test::expect_contains(said({"1.5", "2.5GB/s"}), "Write 1.5GB/s,2.5GB/s.");
  test::expect_contains(said({"1", "024.5MB"}), "Write 1024.5MB.");
  test::expect_contains(said({"12", "5GB/s"}),
                        "Write 12.5GB/s for one value, or 12GB/s,5GB/s for two");
  test::expect_contains(said({"8", "16", "32KiB"}), "Write 8KiB,16KiB,32KiB.");
  test::expect_contains(said({"1MiB", "2", "048KiB"}), "Write 2048KiB or 2.048KiB.");
  for (const Items& fine : {Items{"4KiB", "8KiB"}, Items{"1Gb/s..8Gb/s:x2", "3Gb/s"}, Items{"64"},
                            Items{"64", "128"}, Items{"large", "powers"}, Items{}}) {
    EXPECT_NO_THROW(refuse_commas_in_numbers("--sizes", fine));
  }
}

}  // namespace
}  // namespace dlscale::app
