#include "backend/comm/nccl/rendezvous.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test.
class RendezvousTest : public testing::Test {
 protected:
  RendezvousTest() {
    std::string name = (fs::temp_directory_path() / "rendezvous-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
  }
  RendezvousTest(const RendezvousTest&) = delete;
  RendezvousTest& operator=(const RendezvousTest&) = delete;
  ~RendezvousTest() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path file() const { return folder_ / "meet"; }
  [[nodiscard]] RendezvousSetting setting(Rank rank, int world, double patience = 30.0) const {
    return {file(), rank, world, Seconds(patience)};
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

 private:
  fs::path folder_;
};

std::vector<std::byte> bytes(const std::string& text) {
  std::vector<std::byte> result(text.size());
  std::memcpy(result.data(), text.data(), text.size());
  return result;
}

/// What a rank says when it cannot meet the others; "" if it could.
std::string problem(const RendezvousSetting& setting) {
  try {
    Rendezvous rendezvous(setting);
    rendezvous.meet(bytes("card"), bytes("word"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST_F(RendezvousTest, GivesAllRanksTheCardsOfAllAndTheWordOfRank0) {
  for (const int world : {1, 2, 5}) {
    std::vector<Gathering> gatherings(static_cast<std::size_t>(world));
    {
      std::vector<std::jthread> ranks;
      // The last comes first: whoever is early waits.
      for (Rank rank = world - 1; rank >= 0; --rank) {
        ranks.emplace_back([&, rank] {
          Rendezvous rendezvous(setting(rank, world));
          gatherings[static_cast<std::size_t>(rank)] = rendezvous.meet(
              bytes("card " + std::to_string(rank)), bytes(rank == 0 ? "the word" : "ignored"));
        });
      }
    }
    for (const Gathering& gathering : gatherings) {
      EXPECT_EQ(gathering.word, bytes("the word"));
      ASSERT_EQ(gathering.cards.size(), static_cast<std::size_t>(world));
      for (std::size_t rank = 0; rank < gathering.cards.size(); ++rank) {
        EXPECT_EQ(gathering.cards[rank], bytes("card " + std::to_string(rank)));
      }
    }
    EXPECT_EQ(files(), 0) << "rank 0 removes all";
  }
}

TEST_F(RendezvousTest, NamesTheRanksThatDidNotCome) {
  std::string of_rank_0;
  std::string of_rank_2;
  {
    const std::jthread other([&] { of_rank_2 = problem(setting(2, 4, 20.0)); });
    of_rank_0 = problem(setting(0, 4, 0.5));
  }
  EXPECT_NE(of_rank_0.find("1, 3 did not come to " + file().string() + " within 0.5 s"),
            std::string::npos)
      << of_rank_0;
  EXPECT_EQ(files(), 0) << "the next attempt finds nothing in its way";
}

TEST_F(RendezvousTest, TellsTheOthersThatRank0Left) {
  std::string of_rank_1;
  {
    const std::jthread other([&] { of_rank_1 = problem(setting(1, 3, 60.0)); });
    problem(setting(0, 3, 1.0));
  }
  EXPECT_TRUE(of_rank_1.find("rank 0 left") == 0 || of_rank_1.find("rank 1 waited") == 0)
      << of_rank_1;
}

TEST_F(RendezvousTest, NamesRank0IfItIsMissing) {
  const std::string text = problem(setting(1, 2, 0.1));
  EXPECT_EQ(text.find("rank 1 waited 0.1 s for rank 0 at " + file().string()), 0U) << text;
}

TEST_F(RendezvousTest, RefusesAFileThatIsThereAlready) {
  std::ofstream(file()) << "anything";
  const std::string text = problem(setting(0, 2));
  EXPECT_EQ(text.find(file().string() + " is there already"), 0U) << text;
  EXPECT_TRUE(fs::exists(file())) << "it may be another run's";
}

TEST_F(RendezvousTest, RefusesAFileOlderThanAnyMeeting) {
  write_page(file(), {.meeting = 17, .rank = 0, .world = 2, .body = {}});
  fs::last_write_time(file(), fs::last_write_time(file()) - std::chrono::hours(3));
  const std::string text = problem(setting(1, 2, 5.0));
  EXPECT_NE(text.find("older than this rank: an earlier run left it"), std::string::npos) << text;
  EXPECT_EQ(files(), 1) << "the card is taken back";
}

TEST_F(RendezvousTest, RefusesASecondProcessOfTheSameRank) {
  write_page(file(), {.meeting = 17, .rank = 0, .world = 3, .body = {}});
  write_page(file().string() + ".rank1", {.meeting = 17, .rank = 1, .world = 3, .body = {}});
  const std::string text = problem(setting(1, 3, 5.0));
  EXPECT_EQ(text.find("another process is rank 1"), 0U) << text;
}

TEST_F(RendezvousTest, IgnoresCardsOfEarlierMeetings) {
  write_page(file().string() + ".rank1",
             {.meeting = 17, .rank = 1, .world = 2, .body = bytes("x")});
  const std::string text = problem(setting(0, 2, 0.3));
  EXPECT_EQ(text.find("rank 1 did not come"), 0U) << text;
}

TEST_F(RendezvousTest, RefusesAnAnswerThatIsForAnother) {
  write_page(file(), {.meeting = 17, .rank = 0, .world = 2, .body = {}});
  std::string text;
  {
    const std::jthread rank_1([&] { text = problem(setting(1, 2)); });
    while (!read_page(file().string() + ".rank1")) std::this_thread::yield();
    write_page(file().string() + ".answer",
               {.meeting = 17, .rank = 0, .world = 2, .body = std::vector<std::byte>(24)});
  }
  EXPECT_EQ(text.find("two processes at "), 0U) << text;
}

TEST_F(RendezvousTest, TakesNoPartInAMeetingThatIsOver) {
  write_page(file(), {.meeting = 17, .rank = 0, .world = 2, .body = {}});
  write_page(file().string() + ".answer", {.meeting = 17, .rank = 0, .world = 2, .body = {}});
  const std::string text = problem(setting(1, 2, 0.2));
  EXPECT_EQ(text.find("rank 1 waited 0.2 s for rank 0"), 0U) << text;
}

TEST_F(RendezvousTest, MayMeetAgainAtTheSameFile) {
  const auto meet_often = [&](Rank rank) {
    for (int round = 0; round < 10; ++round) EXPECT_EQ(problem(setting(rank, 3)), "") << round;
  };
  const std::jthread one([&] { meet_often(1); });
  const std::jthread two([&] { meet_often(2); });
  meet_often(0);
}

TEST_F(RendezvousTest, RefusesDifferentNumbersOfRanks) {
  write_page(file(), {.meeting = 17, .rank = 0, .world = 4, .body = {}});
  const std::string text = problem(setting(1, 2, 5.0));
  EXPECT_EQ(text.find("rank 1 was started with DLSCALE_WORLD=2, but rank 0 with 4"), 0U) << text;
}

TEST_F(RendezvousTest, RefusesAFolderThatIsNotThere) {
  RendezvousSetting nowhere = setting(0, 2);
  nowhere.file = file() / "below" / "meet";
  const std::string text = problem(nowhere);
  EXPECT_NE(text.find("is no folder here"), std::string::npos) << text;
}

TEST_F(RendezvousTest, ReadsNoPageThatIsNotWhole) {
  EXPECT_FALSE(read_page(file()).has_value());
  write_page(file(), {.meeting = 5, .rank = 2, .world = 3, .body = bytes("hello")});
  const auto page = read_page(file());
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->meeting, 5U);
  EXPECT_EQ(page->rank, 2);
  EXPECT_EQ(page->world, 3);
  EXPECT_EQ(page->body, bytes("hello"));
  const auto size = fs::file_size(file());
  for (const std::uintmax_t cut : {std::uintmax_t{0}, std::uintmax_t{7}, size - 5, size - 1}) {
    fs::resize_file(file(), cut);
    EXPECT_FALSE(read_page(file()).has_value()) << cut;
    fs::resize_file(file(), size);
  }
  std::ofstream(file()) << std::string(100, 'x');
  EXPECT_FALSE(read_page(file()).has_value());
}

TEST_F(RendezvousTest, SaysWhyAPageCannotBeWritten) {
  fs::create_directory(file());
  EXPECT_THROW(write_page(file(), {}), ConfigError);
}

std::optional<RendezvousSetting> read(const std::map<std::string, std::string>& variables) {
  return rendezvous_setting([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(RendezvousSettings, AreReadFromTheEnvironment) {
  EXPECT_FALSE(read({}).has_value());
  EXPECT_FALSE(read({{"DLSCALE_RENDEZVOUS", ""}, {"DLSCALE_RANK", "x"}}).has_value());
  const auto setting =
      read({{"DLSCALE_RENDEZVOUS", "/shared/meet"}, {"DLSCALE_RANK", "3"}, {"DLSCALE_WORLD", "8"}});
  ASSERT_TRUE(setting.has_value());
  EXPECT_EQ(setting->file, "/shared/meet");
  EXPECT_EQ(setting->rank, 3);
  EXPECT_EQ(setting->world, 8);
  EXPECT_EQ(setting->patience, Seconds(120.0));
  EXPECT_EQ(read({{"DLSCALE_RENDEZVOUS", "f"},
                  {"DLSCALE_RANK", "0"},
                  {"DLSCALE_WORLD", "1"},
                  {"DLSCALE_RENDEZVOUS_TIMEOUT", "7"}})
                ->patience,
            Seconds(7.0));
}

TEST(RendezvousSettings, ThatAreMissingOrWrongAreNamed) {
  const auto text = [](const char* rank, const char* world, const char* timeout) -> std::string {
    std::map<std::string, std::string> variables{{"DLSCALE_RENDEZVOUS", "f"}};
    if (rank != nullptr) variables["DLSCALE_RANK"] = rank;
    if (world != nullptr) variables["DLSCALE_WORLD"] = world;
    if (timeout != nullptr) variables["DLSCALE_RENDEZVOUS_TIMEOUT"] = timeout;
    try {
      read(variables);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(text("0", nullptr, nullptr).find("DLSCALE_RENDEZVOUS is set, but DLSCALE_WORLD"), 0U);
  EXPECT_EQ(text(nullptr, "2", nullptr).find("DLSCALE_RENDEZVOUS is set, but DLSCALE_RANK"), 0U);
  EXPECT_EQ(text("-1", "2", nullptr).find("DLSCALE_RANK is \"-1\""), 0U);
  EXPECT_EQ(text("1x", "2", nullptr).find("DLSCALE_RANK is \"1x\""), 0U);
  EXPECT_EQ(text("0", "0", nullptr).find("DLSCALE_WORLD is \"0\""), 0U);
  EXPECT_EQ(text("2", "2", nullptr).find("DLSCALE_RANK is 2 and DLSCALE_WORLD is 2"), 0U);
  EXPECT_EQ(text("0", "2", "soon").find("DLSCALE_RENDEZVOUS_TIMEOUT is \"soon\""), 0U);
}

}  // namespace
}  // namespace dlscale::backend::gpu_comm
