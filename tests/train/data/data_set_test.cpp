#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <map>

#include "core/base/interrupt.hpp"
#include "core/base/remedy.hpp"
#include "message.hpp"
#include "small_set.hpp"
#include "tests/core/support.hpp"
#include "train/data/data.hpp"
#include "train/data/file.hpp"
#include "train/data/manifest.hpp"

namespace dlscale::train {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::vector<std::uint8_t>>;

/// Every file below a folder and what is in it.
Files contents(const fs::path& root) {
  Files files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    read_file(entry.path(), files[fs::relative(entry.path(), root).string()]);
  }
  return files;
}

double mean_bytes(const DataSet& data) {
  double sum = 0;
  for (const auto& picture : data.pictures) sum += static_cast<double>(picture.bytes);
  return sum / static_cast<double>(data.pictures.size());
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

class DataSetFolder : public testing::Test {
 protected:
  fs::path root() const { return folder_ / "set"; }
  std::string make_refusal(const DataSetSpec& spec) {
    return config_error([&] { make_data_set(root(), spec); });
  }
  std::string open_refusal() {
    return config_error([&] { open_data_set(root()); });
  }
  test::TemporaryFolder folder_;
};

TEST_F(DataSetFolder, HoldsWhatTheSpecAsksFor) {
  const DataSet data = make_data_set(root(), small_spec());
  EXPECT_EQ(data.classes.size(), 4U);
  ASSERT_EQ(data.pictures.size(), 14U);
  std::map<std::int32_t, int> labels;
  for (const auto& picture : data.pictures) {
    ++labels[picture.label];
    EXPECT_EQ(fs::file_size(picture.path), picture.bytes);
    EXPECT_EQ(picture.path.parent_path().filename(), data.classes[picture.label]);
  }
  EXPECT_EQ(labels, (std::map<std::int32_t, int>{{0, 4}, {1, 4}, {2, 3}, {3, 3}}));
}

TEST_F(DataSetFolder, OpensAsItWasMade) {
  const DataSet made = make_data_set(root(), small_spec());
  const DataSet opened = open_data_set(root());
  EXPECT_EQ(opened.classes, made.classes);
  ASSERT_EQ(opened.pictures.size(), made.pictures.size());
  for (std::size_t i = 0; i < made.pictures.size(); ++i) {
    EXPECT_EQ(opened.pictures[i].path, made.pictures[i].path);
    EXPECT_EQ(opened.pictures[i].label, made.pictures[i].label);
  }
}

TEST_F(DataSetFolder, IsTheSameForTheSameSeedOnly) {
  make_data_set(folder_ / "a", small_spec());
  make_data_set(folder_ / "b", small_spec());
  EXPECT_EQ(contents(folder_ / "a"), contents(folder_ / "b"));
  DataSetSpec other = small_spec();
  other.seed = 4;
  make_data_set(folder_ / "c", other);
  EXPECT_NE(contents(folder_ / "a"), contents(folder_ / "c"));
}

TEST_F(DataSetFolder, HasPicturesOfTheSizesOfImageNet) {
  DataSetSpec spec;
  spec.pictures = 30;
  const DataSet data = make_data_set(root(), spec);
  EXPECT_NEAR(mean_bytes(data), 110e3, 11e3);
  std::int64_t smallest = data.pictures.front().bytes;
  std::int64_t largest = smallest;
  for (const auto& picture : data.pictures) {
    smallest = std::min(smallest, picture.bytes);
    largest = std::max(largest, picture.bytes);
  }
  EXPECT_LT(1.5 * static_cast<double>(smallest), static_cast<double>(largest));
}

TEST_F(DataSetFolder, ReachesOtherFileSizesToo) {
  for (const double target : {2500.0, 5000.0, 9000.0}) {
    DataSetSpec spec = small_spec();
    spec.pictures = 60;
    spec.target_bytes = target;
    const DataSet data = make_data_set(folder_ / std::to_string(target), spec);
    EXPECT_NEAR(mean_bytes(data), target, 0.1 * target);
  }
}

TEST_F(DataSetFolder, IsLeftAloneOnceFinished) {
  const DataSet data = make_data_set(root(), small_spec());
  std::vector<fs::file_time_type> times;
  for (const auto& picture : data.pictures) {
    fs::last_write_time(picture.path,
                        fs::file_time_type::clock::now() - std::chrono::hours(24 * 365));
    times.push_back(fs::last_write_time(picture.path));
  }
  make_data_set(root(), small_spec());
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(fs::last_write_time(data.pictures[i].path), times[i]);
  }
}

TEST_F(DataSetFolder, IsFinishedWhereItStopped) {
  const DataSet data = make_data_set(root(), small_spec());
  const Files complete = contents(root());
  // As after a crash: no manifest, some pictures there, one cut short by the file system.
  Manifest plan = read_manifest(manifest_path(root()));
  plan.pictures.clear();
  write_manifest(root() / "manifest.partial.json", plan);
  fs::remove(manifest_path(root()));
  for (const std::size_t i : {1U, 5U, 6U}) fs::remove(data.pictures[i].path);
  fs::resize_file(data.pictures[9].path, 100);
  const auto untouched = fs::status(data.pictures[0].path);
  EXPECT_TRUE(contains(open_refusal(), "manifest.json"));
  make_data_set(root(), small_spec());
  EXPECT_EQ(contents(root()), complete);
  EXPECT_EQ(fs::status(data.pictures[0].path).type(), untouched.type());
}

TEST_F(DataSetFolder, IsRepairedByMakingItAgain) {
  const DataSet data = make_data_set(root(), small_spec());
  const Files complete = contents(root());
  fs::remove(data.pictures[2].path);
  auto bytes = complete.at(fs::relative(data.pictures[3].path, root()).string());
  bytes[bytes.size() / 2] ^= 1;
  write_file(data.pictures[3].path, bytes);
  make_data_set(root(), small_spec());
  EXPECT_EQ(contents(root()), complete);
}

TEST_F(DataSetFolder, OfAnotherSpecIsRefusedWithTheDifference) {
  make_data_set(root(), small_spec());
  DataSetSpec other = small_spec();
  other.pictures = 20;
  other.seed = 8;
  const std::string message = make_refusal(other);
  EXPECT_TRUE(contains(message, "pictures is 14 there, 20 here")) << message;
  EXPECT_TRUE(contains(message, "seed is 3 there, 8 here")) << message;
  EXPECT_FALSE(contains(message, "width")) << message;
}

TEST_F(DataSetFolder, WithOtherFilesIsRefused) {
  fs::create_directories(root());
  write_text(root() / "thesis.tex", "years of work");
  EXPECT_TRUE(contains(make_refusal(small_spec()), "not empty"));
  EXPECT_EQ(contents(root()).size(), 1U);
}

TEST_F(DataSetFolder, WithADataSetOfSomeoneElseIsRefused) {
  fs::create_directories(root());
  write_text(manifest_path(root()),
             R"({"schema": "dlscale.data_set", "version": 1, "classes": ["a"], "pictures": []})");
  EXPECT_TRUE(contains(make_refusal(small_spec()), "another data set"));
}

TEST_F(DataSetFolder, BelowAFileIsRefused) {
  write_text(folder_ / "file", "");
  EXPECT_TRUE(contains(config_error([&] { make_data_set(folder_ / "file/set", small_spec()); }),
                       "file/set"));
  EXPECT_TRUE(contains(config_error([&] { make_data_set(folder_ / "file", small_spec()); }),
                       "cannot be used"));
}

TEST_F(DataSetFolder, ThatCannotBeWrittenIsRefused) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_TRUE(contains(make_refusal(small_spec()), "ermission"));
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

/// Lets no file grow beyond a size, as a full disk does; the signal that comes with it is ignored.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(DataSetFolder, OnAFullDiskIsRefusedAndFinishedLater) {
  {
    const FileSizeLimit limit(4000);  // some pictures fit
    EXPECT_TRUE(contains(make_refusal(small_spec()), "Make room"));
  }
  for (const auto& [name, bytes] : contents(root())) {
    EXPECT_FALSE(contains(name, ".partial") && !contains(name, "manifest")) << name;
  }
  EXPECT_EQ(make_data_set(root(), small_spec()).pictures.size(), 14U);
  EXPECT_FALSE(fs::exists(root() / "manifest.partial.json"));
}

TEST_F(DataSetFolder, OfImpossibleSpecIsRefused) {
  const auto refusal = [&](auto change) {
    DataSetSpec spec = small_spec();
    change(spec);
    return make_refusal(spec);
  };
  EXPECT_TRUE(contains(refusal([](auto& spec) { spec.classes = 0; }), "classes"));
  EXPECT_TRUE(contains(refusal([](auto& spec) { spec.pictures = 3; }), "pictures"));
  EXPECT_TRUE(contains(refusal([](auto& spec) { spec.width = -1; }), "width"));
  EXPECT_TRUE(contains(refusal([](auto& spec) { spec.height = 100000; }), "height"));
  EXPECT_TRUE(contains(refusal([](auto& spec) { spec.target_bytes = NAN; }), "file size"));
  EXPECT_TRUE(contains(refusal([](auto& spec) { spec.target_bytes = 1e6; }), "cannot be JPEG"));
  EXPECT_FALSE(fs::exists(root()));
}

using DataSetDeathTest = DataSetFolder;

TEST_F(DataSetDeathTest, StopsOnASignalAndIsFinishedLater) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto interrupted_making = [&] {
    install_signal_handlers();
    std::raise(SIGINT);
    try {
      make_data_set(root(), small_spec());
    } catch (const Interrupted& stop) {
      std::_Exit(static_cast<int>(stop.code()));
    }
  };
  EXPECT_EXIT(interrupted_making(), testing::ExitedWithCode(130), "");
  EXPECT_EQ(make_data_set(root(), small_spec()).pictures.size(), 14U);
}

TEST_F(DataSetFolder, ThatIsMissingTellsWhereToMakeOne) {
  const auto remedied = [&] {
    try {
      open_data_set(root());
    } catch (const RemediableError& error) {
      return error.remedies.front().kind == Remedy::Kind::make_data_set &&
             error.remedies.front().subject == root().string();
    }
    return false;
  };
  EXPECT_TRUE(remedied());
  fs::create_directories(root());
  EXPECT_TRUE(remedied());
  EXPECT_TRUE(contains(open_refusal(), "no manifest.json"));
}

TEST_F(DataSetFolder, WithAMissingOrTruncatedPictureIsRefusedByName) {
  const DataSet data = make_data_set(root(), small_spec());
  const fs::path path = data.pictures[7].path;
  fs::resize_file(path, 100);
  std::string message = open_refusal();
  EXPECT_TRUE(contains(message, path.string()) && contains(message, "truncated")) << message;
  fs::remove(path);
  message = open_refusal();
  EXPECT_TRUE(contains(message, path.string()) && contains(message, "No such file")) << message;
}

class BadManifest : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(BadManifest, IsRefusedWithItsProblem) {
  const test::TemporaryFolder folder;
  write_text(manifest_path(folder.path()), GetParam().first);
  const std::string message = config_error([&] { open_data_set(folder.path()); });
  EXPECT_TRUE(contains(message, manifest_path(folder.path()).string())) << message;
  EXPECT_TRUE(contains(message, GetParam().second)) << message;
  EXPECT_FALSE(contains(message, "json.exception")) << message;
}

#define HEAD R"({"schema": "dlscale.data_set", "version": 1, "classes": ["a"], )"

INSTANTIATE_TEST_SUITE_P(
    Texts, BadManifest,
    testing::Values(
        std::pair{"", "it is empty"},
        std::pair{R"({"schema": "dlscale.data)", "ends within line 1"},
        std::pair{"[]", "wrong type"}, std::pair{"{}", "this is not"},
        std::pair{R"({"schema": "dlscale.data_set", "version": 2})", "version 1"},
        std::pair{HEAD R"("pictures": []})", "no pictures"},
        std::pair{HEAD R"("pictures": [{"path": "a/1.jpg", "bytes": 1}]})", "label"},
        std::pair{HEAD R"("pictures": [{"path": "a/1.jpg", "label": 1, "bytes": 1}]})",
                  "1 classes"},
        std::pair{HEAD R"("pictures": [{"path": "a/1.jpg", "label": "x", "bytes": 1}]})",
                  "not a count"},
        std::pair{HEAD R"("pictures": [{"path": "a/1.jpg", "label": 4294967296, "bytes": 1}]})",
                  "not a count"},
        std::pair{HEAD R"("pictures": [{"path": "a/1.jpg", "label": 0, "bytes": 1e300}]})",
                  "not a count"},
        std::pair{HEAD R"("pictures": [{"path": "../\n\u202e", "label": 0, "bytes": 1}]})",
                  R"("../\n\u202e" is outside)"},
        std::pair{HEAD R"("pictures": [{"path": "../1.jpg", "label": 0, "bytes": 1}]})", "outside"},
        std::pair{HEAD R"("pictures": [{"path": "/1.jpg", "label": 0, "bytes": 1}]})", "outside"},
        std::pair{HEAD R"("pictures": [{"path": "1", "label": 0, "bytes": 1, "fnv1a": "?"}]})",
                  "hexadecimal"}));

#undef HEAD

// Of the reference tables of the authors of FNV.
TEST(Checksum, IsFnv1a) {
  const std::string text = "foobar";
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  EXPECT_EQ(checksum({}), 0xcbf29ce484222325U);
  EXPECT_EQ(checksum(bytes), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace dlscale::train
