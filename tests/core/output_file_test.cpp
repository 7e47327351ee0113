#include "core/system/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "tests/core/full_disk.hpp"
#include "tests/core/support.hpp"

namespace {

std::vector<std::string> calls;
int sync_error = 0;

}  // namespace

/// In place of those of the C library, for the whole program: they keep the order of the calls.
extern "C" int fsync(int file) {
  calls.emplace_back("fsync");
  if (sync_error == 0) return static_cast<int>(syscall(SYS_fsync, file));
  errno = sync_error;
  return -1;
}
extern "C" int rename(const char* from, const char* to) {
  calls.emplace_back("rename");
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace dlscale {
namespace {

namespace fs = std::filesystem;
using test::config_error;
using test::expect_contains;
using test::read_file;

class WriteWhole : public testing::Test {
 protected:
  [[nodiscard]] std::size_t files() const {
    const fs::directory_iterator all(folder_.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  test::TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "file.json";
};

TEST_F(WriteWhole, MakesAFileAndReplacesIt) {
  EXPECT_EQ(write_whole(file_, "a long first text"), 0);
  EXPECT_EQ(read_file(file_), "a long first text");
  EXPECT_EQ(write_whole(file_, "second"), 0);
  EXPECT_EQ(read_file(file_), "second");
  EXPECT_EQ(files(), 1U);
}

TEST_F(WriteWhole, IsTriedWithoutATrace) {
  EXPECT_EQ(try_to_write(file_), 0);
  EXPECT_EQ(try_to_write(folder_.path() / "not" / "made" / "yet.json"), 0);
  EXPECT_EQ(files(), 0U);
  ASSERT_EQ(write_whole(file_, "first"), 0);
  EXPECT_EQ(try_to_write(file_), 0);
  EXPECT_EQ(read_file(file_), "first");
  EXPECT_EQ(try_to_write("/dev/null"), 0);

  EXPECT_EQ(try_to_write(folder_.path()), EISDIR);
  EXPECT_EQ(try_to_write(file_ / "below a file"), ENOTDIR);
  EXPECT_NE(try_to_write("/proc/none.json"), 0);
  EXPECT_EQ(files(), 1U);
}

TEST_F(WriteWhole, KeepsPermissions) {
  ASSERT_EQ(write_whole(file_, "first"), 0);
  fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_EQ(write_whole(file_, "second"), 0);
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(WriteWhole, LeavesTheOldFileWhenTheDiskIsFull) {
  ASSERT_EQ(write_whole(file_, "first"), 0);
  {
    const test::NoRoomForFiles full(1000);
    EXPECT_EQ(write_whole(file_, std::string(2000, 'x')), EFBIG);
  }
  EXPECT_EQ(read_file(file_), "first");
  EXPECT_EQ(files(), 1U);
}

/// After the rename a crash would find the name of the old file on content that never arrived.
TEST_F(WriteWhole, IsOnTheDiskBeforeItTakesTheName) {
  calls.clear();
  ASSERT_EQ(write_whole(file_, "text"), 0);
  EXPECT_EQ(calls, (std::vector<std::string>{"fsync", "rename"}));
}

TEST_F(WriteWhole, LeavesTheOldFileWhenTheDiskDoesNotTakeTheNewOne) {
  ASSERT_EQ(write_whole(file_, "first"), 0);
  sync_error = EIO;
  EXPECT_EQ(write_whole(file_, "second"), EIO);
  EXPECT_EQ(read_file(file_), "first");
  EXPECT_EQ(files(), 1U);
  sync_error = EINVAL;  // of a file system that has nothing to flush
  EXPECT_EQ(write_whole(file_, "third"), 0);
  EXPECT_EQ(read_file(file_), "third");
  sync_error = 0;
}

TEST_F(WriteWhole, FollowsLinks) {
  const fs::path folder = folder_.path() / "elsewhere";
  fs::create_directory(folder);
  fs::create_symlink("elsewhere/second", file_);
  fs::create_symlink("target", folder / "second");
  for (const char* text : {"behind links to nothing", "behind links to a file"}) {
    EXPECT_EQ(write_whole(file_, text), 0);
    EXPECT_TRUE(fs::is_symlink(file_));
    EXPECT_TRUE(fs::is_symlink(folder / "second"));
    EXPECT_EQ(read_file(folder / "target"), text);
  }
}

TEST_F(WriteWhole, RefusesLinksWithoutEnd) {
  fs::create_symlink("file.json", file_);
  EXPECT_EQ(write_whole(file_, "text"), ELOOP);
  EXPECT_TRUE(fs::is_symlink(file_));
}

TEST_F(WriteWhole, TellsWhatIsInTheWay) {
  EXPECT_EQ(write_whole(folder_.path(), "text"), EISDIR);
  EXPECT_EQ(write_whole(folder_.path() / "no folder" / "file", "text"), ENOENT);
  ASSERT_EQ(write_whole(file_, "text"), 0);
  EXPECT_EQ(write_whole(file_ / "below a file", "text"), ENOTDIR);
}

TEST_F(WriteWhole, TakesNamesAsLongAsTheyMayBe) {
  const fs::path file = folder_.path() / std::string(255, 'n');
  EXPECT_EQ(write_whole(file, "text"), 0);
  EXPECT_EQ(read_file(file), "text");
}

TEST_F(WriteWhole, WritesThroughAPipe) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  expect_contains(config_error([&] { (void)write_whole(file_, "text"); }), "no program reads");
  const int reader = open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(write_whole(file_, "text"), 0);
  std::array<char, 10> got{};
  EXPECT_EQ(read(reader, got.data(), got.size()), 4);
  EXPECT_STREQ(got.data(), "text");
  EXPECT_TRUE(fs::is_fifo(file_));
  close(reader);
}

/// A node of its own: one of the system that is replaced by mistake would be missed.
TEST_F(WriteWhole, WritesThroughADevice) {
  constexpr unsigned memory_devices = 1;
  const fs::path full = folder_.path() / "full";
  const fs::path null = folder_.path() / "null";
  const bool made = mknod(full.c_str(), S_IFCHR | 0600, makedev(memory_devices, 7)) == 0 &&
                    mknod(null.c_str(), S_IFCHR | 0600, makedev(memory_devices, 3)) == 0;
  const int descriptor = made ? open(null.c_str(), O_WRONLY | O_CLOEXEC) : -1;
  if (descriptor < 0) GTEST_SKIP() << "device nodes cannot be made or used here";
  close(descriptor);
  fs::create_symlink("full", folder_.path() / "link");
  EXPECT_EQ(write_whole(null, "text"), 0);
  EXPECT_EQ(write_whole(full, "text"), ENOSPC);
  EXPECT_EQ(write_whole(folder_.path() / "link", "text"), ENOSPC);
  EXPECT_TRUE(fs::is_character_file(null));
  EXPECT_TRUE(fs::is_character_file(full));
  EXPECT_TRUE(fs::is_symlink(folder_.path() / "link"));
}

/// Standard output into a file, of which some was written.
class StandardOutput {
 public:
  explicit StandardOutput(const fs::path& file) : before_(dup(STDOUT_FILENO)) {
    const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    (void)std::fflush(stdout);
    (void)dup2(descriptor, STDOUT_FILENO);
    close(descriptor);
  }
  ~StandardOutput() {
    (void)std::fflush(stdout);
    (void)dup2(before_, STDOUT_FILENO);
    close(before_);
  }
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

 private:
  int before_;
};

TEST_F(WriteWhole, WritesBehindWhatStandardOutputHas) {
  const fs::path link = folder_.path() / "stdout";
  fs::create_symlink("/proc/self/fd/1", link);
  int error = -1;
  {
    const StandardOutput output(file_);
    (void)std::fputs("before, ", stdout);
    error = write_whole(link, "text");
    (void)std::fputs(", after", stdout);
  }
  EXPECT_EQ(error, 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(file_), "before, text, after");
}

}  // namespace
}  // namespace dlscale
