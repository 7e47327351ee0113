#include "bench/io/io_cell.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "core/base/error.hpp"
#include "tests/train/data/temporary_folder.hpp"

namespace dlscale::bench {
namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(Residency, OfAFileJustWrittenIsComplete) {
  const train::TemporaryFolder folder;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  write_text(folder / "file", std::string(3 * page + 1, 'x'));
  const Residency found = residency(folder / "file");
  EXPECT_EQ(found.pages, 4);
  EXPECT_EQ(found.cached, 4);
}

TEST(Residency, OfAnEmptyFileIsNothing) {
  const train::TemporaryFolder folder;
  write_text(folder / "file", "");
  EXPECT_EQ(residency(folder / "file").pages, 0);
}

TEST(Residency, OfAMissingFileIsRefusedByName) {
  try {
    residency("/no/such/file");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/file"), std::string::npos);
  }
  EXPECT_THROW(evict("/no/such/file"), ConfigError);
}

// File systems in memory keep their pages; on a device they go.
TEST(Evict, LeavesTheFileAsItIs) {
  const train::TemporaryFolder folder;
  write_text(folder / "file", std::string(100000, 'x'));
  evict(folder / "file");
  const Residency found = residency(folder / "file");
  EXPECT_TRUE(found.cached == 0 || found.cached == found.pages) << found.cached;
  std::string text;
  std::ifstream(folder / "file") >> text;
  EXPECT_EQ(text, std::string(100000, 'x'));
}

TEST(StorageBytesRead, IsWhatTheCounterSays) {
  const train::TemporaryFolder folder;
  write_text(folder / "io", "rchar: 1948\nwchar: 0\nread_bytes: 8192\nwrite_bytes: 77\n");
  EXPECT_EQ(storage_bytes_read(folder / "io"), 8192);
}

TEST(StorageBytesRead, IsUnknownWithoutTheCounter) {
  const train::TemporaryFolder folder;
  EXPECT_EQ(storage_bytes_read(folder / "missing"), std::nullopt);
  write_text(folder / "io", "rchar: 1948\n");
  EXPECT_EQ(storage_bytes_read(folder / "io"), std::nullopt);
}

}  // namespace
}  // namespace dlscale::bench
