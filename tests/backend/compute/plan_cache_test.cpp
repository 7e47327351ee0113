#include "backend/compute/plan_cache.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/base/fnv1a.hpp"
#include "core/system/build_info.hpp"
#include "tests/core/support.hpp"

/// How choices are kept between processes, with choosers that need no device.
namespace dlscale::backend {
namespace {

namespace fs = std::filesystem;
using Conditions = std::map<std::string, std::string>;

const Conditions here{{"GPU", "a GPU"}, {"cuDNN", "9.19.0"}, {"commit", "abc"}};

/// Chooses among numbers, of which `best` is the fastest, and counts how often it is asked.
struct FakeChooser {
  int best = 3;
  int asked = 0;
  Seconds time = 1.0_ms;
  std::vector<int> offered{1, 2, 3};
  std::string note;

  Chosen<int> run(PlanCache& cache, const std::string& key = "some work") {
    const auto recall = [&](const KeptChoice& kept) -> std::optional<int> {
      for (const int each : offered) {
        if (std::to_string(each) == kept.name && kept.data == "data of " + kept.name) return each;
      }
      return std::nullopt;
    };
    const auto choose = [&]() -> Trialled<int> {
      ++asked;
      return {best, std::to_string(best), time, "data of " + std::to_string(best), note};
    };
    return recall_or_choose<int>(cache, key, recall, choose);
  }
};

Conditions with(Conditions conditions, const std::string& name, const std::string& value) {
  conditions[name] = value;
  return conditions;
}

class PlanCaches : public testing::Test {
 protected:
  [[nodiscard]] PlanCache cache(const Conditions& conditions = here) const {
    return {folder, conditions};
  }
  /// In which the work of the chooser is kept.
  PlanCache kept(const Conditions& conditions = here) {
    PlanCache made = cache(conditions);
    static_cast<void>(chooser.run(made));
    return made;
  }
  [[nodiscard]] std::string note_under(const Conditions& conditions) const {
    return cache(conditions).find("some work").note;
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& each : fs::recursive_directory_iterator(folder)) {
      if (each.is_regular_file()) all.push_back(each.path());
    }
    return all;
  }

  const test::TemporaryFolder own;
  const fs::path& folder = own.path();
  FakeChooser chooser;
};

TEST_F(PlanCaches, AreAskedBeforeAnythingIsMeasured) {
  PlanCache first = cache();
  const auto measured = chooser.run(first);
  EXPECT_EQ(measured.choice, 3);
  EXPECT_EQ(measured.remark(), "") << "measured now";
  PlanCache next = cache();  // of another process
  chooser.best = 1;
  const auto recalled = chooser.run(next);
  EXPECT_EQ(chooser.asked, 1);
  EXPECT_EQ(recalled.choice, 3);
  EXPECT_EQ(recalled.remark().find(" (recalled, measured 20"), 0U) << recalled.remark();
  EXPECT_EQ(recalled.remark().substr(recalled.remark().size() - 2), "Z)");
}

/// The time to make something by a choice has that of the trial in it, or has not.
TEST_F(PlanCaches, TellWhetherTheTrialWasMadeJustNow) {
  PlanCache first = cache();
  const auto measured = chooser.run(first);
  EXPECT_EQ(measured.remark(), "");
  EXPECT_EQ(measured.again().remark(), " (measured before by this process)");
  EXPECT_EQ(measured.again().choice, measured.choice);
  PlanCache next = cache();
  const auto recalled = chooser.run(next);
  EXPECT_EQ(recalled.again().remark(), recalled.remark());
  const Chosen<int> replaced{3, "measured now: the kept choice is of cuDNN 9.19.0"};
  EXPECT_EQ(replaced.again().remark(), " (measured before by this process)");
}

TEST_F(PlanCaches, TellWhatWasFasterButNotChosen) {
  chooser.note = "4 was faster, but it is wrong";
  PlanCache first = cache();
  EXPECT_EQ(chooser.run(first).remark(), " (measured now: 4 was faster, but it is wrong)");
  PlanCache next = cache();  // of another process, which has the same choice for the same reason
  const std::string remark = chooser.run(next).remark();
  EXPECT_EQ(remark.find(" (recalled, measured 20"), 0U) << remark;
  EXPECT_TRUE(remark.ends_with("Z; 4 was faster, but it is wrong)")) << remark;
  EXPECT_EQ(chooser.asked, 1);
  PlanCache other = cache(with(here, "cuDNN", "9.20.0"));
  EXPECT_EQ(chooser.run(other).remark(),
            " (measured now: the kept choice is of cuDNN 9.19.0; 4 was faster, but it is wrong)");
}

TEST_F(PlanCaches, KeepTheTimeThatWasMeasuredForTheSameWorkOnly) {
  const PlanCache one = kept();
  const auto found = one.find("some work");
  ASSERT_TRUE(found.choice);
  EXPECT_EQ(found.choice->time, 1.0_ms);
  EXPECT_EQ(found.choice->name, "3");
  EXPECT_EQ(found.note, "");
  EXPECT_FALSE(one.find("other work").choice);
  EXPECT_EQ(one.find("other work").note, "");
}

TEST_F(PlanCaches, HoldUnderTheSameConditionsOnly) {
  kept();
  const Conditions newer = with(here, "cuDNN", "9.20.0");
  PlanCache other = cache(newer);
  const auto again = chooser.run(other);
  EXPECT_EQ(chooser.asked, 2);
  EXPECT_EQ(again.remark(), " (measured now: the kept choice is of cuDNN 9.19.0)");
  EXPECT_TRUE(other.find("some work").choice) << "the new one replaces the old one";
  EXPECT_EQ(note_under(here), "the kept choice is of cuDNN 9.20.0");
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(note_under(with(newer, "cuFFT", "12")), "the kept choice is of no cuFFT");
  Conditions fewer = newer;
  fewer.erase("commit");
  EXPECT_EQ(note_under(fewer), "the kept choice is of commit abc");
}

/// Also where both are builds of one commit with local changes, which only their build id tells.
TEST_F(PlanCaches, HoldForTheSameBuildOnly) {
  const Conditions built = with(conditions_of_program(), "GPU", "a GPU");
  EXPECT_EQ(built.at("build"), build_id());
  EXPECT_EQ(built.at("commit").find(build_info().commit), 0U);
  kept(built);
  EXPECT_TRUE(cache(built).find("some work").choice);
  EXPECT_EQ(note_under(with(built, "build", "ab12")), "the kept choice is of build " + build_id());
}

TEST_F(PlanCaches, KeepTheChoicesOfEachGpu) {
  kept();
  PlanCache other = cache(with(here, "GPU", "another GPU"));
  EXPECT_EQ(chooser.run(other).remark(), "");
  EXPECT_EQ(files().size(), 2U);
  EXPECT_TRUE(cache().find("some work").choice);
}

/// A program built with another standard library finds them, and finds them whole.
TEST_F(PlanCaches, HaveNamesAndChecksThatNoLibraryChooses) {
  kept();
  const fs::path file = files().at(0);
  EXPECT_EQ(file.filename(), "09aa459efa44eb41.json");  // FNV-1a of "GPU a GPUsome work"
  auto json = nlohmann::ordered_json::parse(test::read_file(file));
  const auto check = json.at("check").get<std::string>();
  json.erase("check");
  EXPECT_EQ(check, fmt::format("{:016x}", fnv1a(json.dump())));
}

TEST_F(PlanCaches, MeasureAgainWhereAFileIsBroken) {
  PlanCache one = kept();
  const fs::path file = files().at(0);
  const std::string whole = test::read_file(file);
  const auto replaced = [&](const char* from, const char* to) {
    return test::replaced(whole, from, to);
  };
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[1, 2]"), whole.substr(0, 60),
        replaced("\"name\"", "\"nome\""), replaced("0.001", "\"soon\""), replaced("0.001", "-1"),
        replaced("dlscale-plan-choice", "something-else"),
        replaced("\"version\":1", "\"version\":2"), replaced("some work", "other work"),
        replaced("data of", "date of"), replaced("0.001", "0.002")}) {
    std::ofstream(file) << text;
    chooser.asked = 0;
    const auto again = chooser.run(one);
    EXPECT_EQ(chooser.asked, 1) << text;
    EXPECT_EQ(again.origin.find("measured now: "), 0U) << text;
    EXPECT_TRUE(cache().find("some work").choice) << "mended";
  }
}

TEST_F(PlanCaches, MeasureAgainWhatIsNotOfferedAnyMore) {
  PlanCache one = kept();
  chooser.offered = {1, 2};
  chooser.best = 2;
  EXPECT_EQ(chooser.run(one).remark(), " (measured now: what was kept is not offered)");
  EXPECT_EQ(chooser.run(one).choice, 2);
  EXPECT_EQ(chooser.asked, 2);
}

TEST_F(PlanCaches, TakeAFailureToRecallForARefusal) {
  PlanCache one = kept();
  const auto recall = [](const KeptChoice&) -> std::optional<int> {
    throw LibraryError("it broke");
  };
  const auto choose = []() -> Trialled<int> { return {7, "7", 1.0_ms}; };
  EXPECT_EQ(recall_or_choose<int>(one, "some work", recall, choose).choice, 7);
  const auto fail = []() -> Trialled<int> { throw Unsupported("none"); };
  EXPECT_THROW(static_cast<void>(recall_or_choose<int>(one, "more work", recall, fail)),
               Unsupported);
}

TEST_F(PlanCaches, KeepOnlyWhatWasMeasured) {
  chooser.time = Seconds();
  kept();
  EXPECT_TRUE(files().empty());
}

TEST_F(PlanCaches, WithoutAFolderKeepNothing) {
  PlanCache off({}, here);
  static_cast<void>(chooser.run(off));
  EXPECT_EQ(chooser.run(off).remark(), "");
  EXPECT_EQ(chooser.asked, 2);
}

/// A file where the folder should be: the superuser, too, cannot write there.
TEST_F(PlanCaches, WarnOnceWhereNothingCanBeWritten) {
  const fs::path taken = folder / "taken";
  std::ofstream(taken) << "a file";
  PlanCache one(taken, here);
  testing::internal::CaptureStderr();
  EXPECT_EQ(chooser.run(one, "a").choice, 3);
  EXPECT_EQ(chooser.run(one, "b").choice, 3);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("DLSCALE_PLAN_CACHE"), std::string::npos) << said;
  EXPECT_EQ(said.find("dlscale:"), said.rfind("dlscale:")) << said;
}

/// Several ranks make the same choices at once: whoever reads meets a whole entry or none.
TEST_F(PlanCaches, AreWrittenAndReadAtOnce) {
  std::vector<std::thread> ranks;
  ranks.reserve(4);
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([this] {
      PlanCache one = cache();
      const std::string data(100000, 'x');
      for (int i = 0; i < 25; ++i) {
        one.keep("some work", {"3", 1.0_ms, now_text(), data});
        const auto found = one.find("some work");
        EXPECT_EQ(found.note, "");
        EXPECT_TRUE(found.choice && found.choice->data == data);
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(files().size(), 1U) << "nothing temporary is left";
}

/// Sets a variable of the environment, or removes it, for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) {
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

std::string folder_text() {
  const auto folder = plan_cache_folder();
  return folder ? folder->string() : "none";
}

TEST(PlanCacheFolder, IsChosenByTheEnvironment) {
  const Variable home("HOME", "/home/someone");
  const Variable xdg("XDG_CACHE_HOME", nullptr);
  const Variable chosen("DLSCALE_PLAN_CACHE", nullptr);
  EXPECT_EQ(folder_text(), "/home/someone/.cache/dlscale");
  {
    const Variable relative("XDG_CACHE_HOME", "somewhere");
    EXPECT_EQ(folder_text(), "/home/someone/.cache/dlscale");
    const Variable absolute("XDG_CACHE_HOME", "/var/cache");
    EXPECT_EQ(folder_text(), "/var/cache/dlscale");
    const Variable empty("DLSCALE_PLAN_CACHE", "");
    EXPECT_EQ(folder_text(), "/var/cache/dlscale");
    const Variable given("DLSCALE_PLAN_CACHE", "/tmp/plans");
    EXPECT_EQ(folder_text(), "/tmp/plans");
    const Variable off("DLSCALE_PLAN_CACHE", "off");
    EXPECT_EQ(folder_text(), "none");
  }
  const Variable homeless("HOME", nullptr);
  EXPECT_EQ(folder_text(), "none");
}

}  // namespace
}  // namespace dlscale::backend
