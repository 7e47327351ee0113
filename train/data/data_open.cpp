#include <fmt/format.h>

#include <system_error>

#include "core/base/error.hpp"
#include "train/data/data.hpp"
#include "train/data/manifest.hpp"

namespace dlscale::train {
namespace {

namespace fs = std::filesystem;

void check_folder(const fs::path& root) {
  std::error_code ignored;
  const char* problem = nullptr;
  if (!fs::exists(root, ignored)) {
    problem = "does not exist";
  } else if (!fs::is_directory(root, ignored)) {
    problem = "is no folder";
  } else if (!fs::exists(manifest_path(root), ignored)) {
    problem = "has no manifest.json, so it is no (finished) data set";
  }
  if (problem == nullptr) return;
  throw ConfigError(fmt::format("{} {}. Make a data set: dlscale data make --out {}", root.string(),
                                problem, root.string()));
}

void check_picture(const fs::path& root, const DataSet::Picture& picture) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(picture.path, error);
  if (!error && bytes == static_cast<std::uintmax_t>(picture.bytes)) return;
  const std::string problem =
      error ? fmt::format("cannot be read ({})", error.message())
            : fmt::format("is truncated or was replaced: it has {} bytes, the manifest says {}",
                          bytes, picture.bytes);
  throw ConfigError(fmt::format(
      "{} {}. Restore it; in a set that dlscale made, \"dlscale data make --out {}\" with the same "
      "options writes it again.",
      picture.path.string(), problem, root.string()));
}

}  // namespace

DataSet open_data_set(const fs::path& root) {
  check_folder(root);
  Manifest manifest = read_manifest(manifest_path(root));
  DataSet data{root, std::move(manifest.classes), {}};
  for (const Manifest::Entry& entry : manifest.pictures) {
    data.pictures.push_back({root / entry.path, entry.label, entry.bytes});
    check_picture(root, data.pictures.back());
  }
  if (data.pictures.empty()) {
    throw ConfigError(
        fmt::format("{} names no pictures, so there is nothing to load. Make a data "
                    "set: dlscale data make --out DIR",
                    manifest_path(root).string()));
  }
  return data;
}

}  // namespace dlscale::train
