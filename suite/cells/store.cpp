#include "suite/cells/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <istream>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output_file.hpp"
#include "suite/cells/canary.hpp"
#include "suite/job/job.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;

/// Renames a folder before it is deleted, so that a half-deleted one counts as nothing. Ignores
/// missing folders.
void remove_folder(const fs::path& folder, const fs::path& work) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  make_folder(work);
  const fs::path nameless = work / fmt::format("discarded-{}", ::getpid());
  fs::remove_all(nameless, error);
  fs::rename(folder, nameless, error);
  if (!error) fs::remove_all(nameless, error);
  if (!error) return;
  throw ConfigError(
      fmt::format("{} cannot be removed ({}). Allow that, or name another folder with "
                  "-o.",
                  folder.string(), error.message()));
}

Descriptor lock_file(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) {
    throw ConfigError(
        fmt::format("{} cannot be written ({}), so results have no place. "
                    "Choose one that you may write with -o.",
                    path.string(), std::strerror(errno)));
  }
  if (file.try_lock() == Descriptor::Lock::held_by_another) {
    throw ConfigError(
        fmt::format("another dlscale carries out cells in {} (both would measure "
                    "beside each other). Wait for it, or name another folder with "
                    "-o.",
                    path.parent_path().parent_path().string()));
  }
  // Some network file systems have no locks; renamed folders stay complete there as well.
  return file;
}

}  // namespace

CellStore::CellStore(fs::path out, std::string group)
    : out_(std::move(out)), work_(out_ / ".cells" / std::move(group)) {}

fs::path CellStore::folder(const SuiteCell& cell) const {
  return out_ / "cells" / cell.id;
}

fs::path CellStore::place(const SuiteCell& cell) const {
  return fs::absolute(folder(cell)).lexically_normal();
}

fs::path CellStore::work_folder(const SuiteCell& cell) const {
  return work_ / cell.id;
}

void CellStore::open() {
  EXPECT(!lock_);
  refuse_foreign_file(out_ / "cells.jsonl", "a list of cells", [](std::istream& content) {
    return opens_with_schema(content, "dlscale.cells");
  });
  make_folder(work_);
  lock_ = lock_file(fs::path(work_).concat(".lock"));
  end_orphans(fs::absolute(work_).lexically_normal().string() + "/", "a cell");
  std::vector<fs::path> left;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(work_, error)) left.push_back(entry.path());
  for (const fs::path& path : left) fs::remove_all(path);
  make_folder(out_ / "cells");
}

void CellStore::discard() const {
  remove_folder(out_ / "cells", work_);
  remove_folder(out_ / "canary", work_);  // belongs to the calls that measured the cells
  make_folder(out_ / "cells");
  std::error_code absent;
  fs::remove(out_ / "cells.jsonl", absent);
}

void CellStore::discard(std::span<const SuiteCell> cells) const {
  for (const SuiteCell& cell : cells) remove_folder(folder(cell), work_);
}

std::set<std::string> CellStore::done() const {
  std::set<std::string> ids;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(out_ / "cells", absent)) {
    std::error_code none;
    if (fs::exists(entry.path() / row_file, none)) ids.insert(entry.path().filename().string());
  }
  return ids;
}

CellRow CellStore::row(const SuiteCell& cell) const {
  const fs::path path = folder(cell) / row_file;
  try {
    return parse_row(content_of(path));
  } catch (const ConfigError& error) {
    std::string_view problem = error.what();
    if (problem.ends_with('.')) problem.remove_suffix(1);
    throw ConfigError(
        fmt::format("{}: {}. Remove the folder of that cell to have it measured "
                    "again.",
                    path.string(), problem));
  }
}

fs::path CellStore::begin(const SuiteCell& cell) const {
  EXPECT(lock_);
  const fs::path place = work_folder(cell);
  std::error_code absent;
  fs::remove_all(place, absent);
  make_folder(place);
  return place;
}

void CellStore::finish(const SuiteCell& cell, const CellRow& row) const {
  const fs::path place = work_folder(cell);
  write_for_good(place / row_file, to_line(row));
  sync_tree(place);
  if (move_for_good(place, folder(cell))) return;
  move_aside(cell);
  if (!move_for_good(place, folder(cell))) give_up(cell);
}

void CellStore::move_aside(const SuiteCell& cell) const {
  std::error_code error;
  if (fs::exists(folder(cell) / row_file, error)) return;
  // The folder lies beside the groups' work, where results are not searched.
  const fs::path aside = out_ / ".cells" / "without-row";
  make_folder(aside);
  fs::path name = aside / cell.id;
  for (int i = 2; fs::exists(name, error); ++i) name = aside / fmt::format("{}-{}", cell.id, i);
  fs::rename(folder(cell), name, error);
  if (error) {
    throw ConfigError(
        fmt::format("{} has no {}, so the results of a cell should take its place, and it cannot "
                    "be moved to {} ({}). Move it away.",
                    folder(cell).string(), row_file, name.string(), error.message()));
  }
  fmt::print(stderr, "dlscale: {} had no {}, so it counted as nothing; it is now {}\n",
             folder(cell).string(), row_file, name.string());
}

void CellStore::give_up(const SuiteCell& cell) const {
  fs::remove_all(work_folder(cell));
}

void CellStore::write_rows(std::span<const SuiteCell> cells) const {
  const std::set<std::string> there = done();
  std::string text =
      fmt::format("{{\"schema\":\"dlscale.cells\",\"version\":1,\"cells\":{}}}\n", there.size());
  for (const SuiteCell& cell : cells) {
    if (there.contains(cell.id)) text += to_line(row(cell));
  }
  text += canary_lines(out_);
  write_for_good(out_ / "cells.jsonl", text);
}

}  // namespace dlscale::suite
