#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "core/base/error.hpp"
#include "train/data/data.hpp"
#include "train/data/file.hpp"
#include "train/data/jpeg.hpp"
#include "train/data/manifest.hpp"
#include "train/data/parallel.hpp"
#include "train/data/synthetic/compression.hpp"
#include "train/data/synthetic/texture.hpp"

namespace dlscale::train {
namespace {

namespace fs = std::filesystem;

/// Path of the manifest of an unfinished set: the spec without pictures.
fs::path plan_path(const fs::path& root) {
  return root / "manifest.partial.json";
}

void check_range(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return;  // false for a NaN
  throw ConfigError(
      fmt::format("The data set's {} is {}. Choose {} to {}.", name, value, low, high));
}

void check(const DataSetSpec& spec) {
  check_range("number of classes", spec.classes, 1, 100000);
  check_range("number of pictures", spec.pictures, spec.classes, 1e8);
  check_range("width", spec.width, 16, 8192);
  check_range("height", spec.height, 16, 8192);
  check_range("file size", spec.target_bytes, 500, 1e8);
}

std::string difference(const DataSetSpec& there, const DataSetSpec& wanted) {
  std::string text;
  const auto compare = [&text](const char* name, auto a, auto b) {
    if (a != b)
      text += fmt::format("{}{} is {} there, {} here", text.empty() ? "" : ", ", name, a, b);
  };
  compare("classes", there.classes, wanted.classes);
  compare("pictures", there.pictures, wanted.pictures);
  compare("width", there.width, wanted.width);
  compare("height", there.height, wanted.height);
  compare("file size", there.target_bytes, wanted.target_bytes);
  compare("seed", there.seed, wanted.seed);
  return text;
}

/// Throws unless `manifest` describes the requested set.
void check_same(const fs::path& root, const Manifest& manifest, const DataSetSpec& wanted) {
  std::string text =
      manifest.spec ? difference(*manifest.spec, wanted) : "it was not made by dlscale";
  const std::size_t count = manifest.pictures.size();
  if (text.empty() && count != 0 && count != static_cast<std::size_t>(wanted.pictures)) {
    text = fmt::format("its manifest names {} pictures", count);
  }
  if (text.empty()) return;
  throw ConfigError(
      fmt::format("{} holds another data set: {}. Choose another folder, or delete this one.",
                  root.string(), text));
}

bool holds_something(const fs::path& root) {
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.') && name != "lost+found") return true;
  }
  return false;
}

/// Manifest of the finished or unfinished set in the folder; empty if the folder is empty or
/// absent.
std::optional<Manifest> read_existing(const fs::path& root) {
  for (const fs::path& path : {manifest_path(root), plan_path(root)}) {
    if (fs::exists(path)) return read_manifest(path);
  }
  if (fs::exists(root) && holds_something(root)) {
    throw ConfigError(fmt::format(
        "{} is not empty and holds no data set. Choose an empty or a new folder.", root.string()));
  }
  return std::nullopt;
}

Manifest plan(const DataSetSpec& spec) {
  Manifest manifest;
  manifest.spec = spec;
  const std::size_t digits = std::to_string(spec.classes - 1).size();
  for (int c = 0; c < spec.classes; ++c) {
    manifest.classes.push_back(fmt::format("class_{:0{}}", c, digits));
  }
  return manifest;
}

Manifest::Entry entry_for(std::int64_t index, const Manifest& plan, const DataSetSpec& spec) {
  const auto label = static_cast<std::int32_t>(index % spec.classes);
  return {fmt::format("{}/{:07}.jpg", plan.classes[label], index), label, 0, 0};
}

/// Whether a picture is undamaged. A file under its final name was written completely. Its checksum
/// is known only if the set was finished; otherwise its JPEG markers are checked.
bool is_intact(const std::vector<std::uint8_t>& bytes, const Manifest::Entry* known) {
  if (known != nullptr) {
    return std::ssize(bytes) == known->bytes && checksum(bytes) == known->checksum;
  }
  const std::size_t n = bytes.size();
  return n > 4 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[n - 2] == 0xff &&
         bytes[n - 1] == 0xd9;
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    throw ConfigError(fmt::format("{} cannot be made: {}. Choose a folder that can be written.",
                                  path.string(), error.message()));
  }
}

/// Makes missing pictures and collects the manifest entries of all.
class Maker {
 public:
  Maker(fs::path root, const DataSetSpec& spec, Manifest existing)
      : root_(std::move(root)), spec_(spec), existing_(std::move(existing)), made_(plan(spec)) {
    made_.pictures.resize(spec.pictures);
  }

  /// Whether every picture exists and is intact.
  bool is_complete() {
    missing_.assign(made_.pictures.size(), 0);
    for_each_index(spec_.pictures, [&](std::int64_t i) {
      Manifest::Entry& entry = made_.pictures[i];
      entry = entry_for(i, made_, spec_);
      missing_[i] = take_over(i, entry) ? 0 : 1;
    });
    return std::ranges::find(missing_, 1) == missing_.end();
  }

  void write_missing(Compression compression) {
    for (const std::string& name : made_.classes) make_folder(root_ / name);
    for_each_index(spec_.pictures, [&](std::int64_t i) {
      if (missing_[i] != 0) write(i, compression);
    });
    write_manifest(manifest_path(root_), made_);
  }

 private:
  bool take_over(std::int64_t index, Manifest::Entry& entry) const {
    const fs::path path = root_ / entry.path;
    if (!fs::exists(path)) return false;
    std::vector<std::uint8_t> bytes;
    read_file(path, bytes);
    const bool finished = !existing_.pictures.empty();
    if (!is_intact(bytes, finished ? &existing_.pictures.at(index) : nullptr)) return false;
    describe(entry, bytes);
    return true;
  }

  void write(std::int64_t index, Compression compression) {
    Manifest::Entry& entry = made_.pictures[index];
    const Pixels pixels = draw_texture(spec_, index, compression.noise);
    const std::vector<std::uint8_t> bytes = encode_jpeg(pixels, compression.quality);
    write_file(root_ / entry.path, bytes);
    describe(entry, bytes);
  }

  static void describe(Manifest::Entry& entry, const std::vector<std::uint8_t>& bytes) {
    entry.bytes = std::ssize(bytes);
    entry.checksum = checksum(bytes);
  }

  fs::path root_;
  DataSetSpec spec_;
  Manifest existing_;
  Manifest made_;
  std::vector<char> missing_;
};

DataSet make_or_finish(const fs::path& root, const DataSetSpec& spec) {
  const std::optional<Manifest> existing = read_existing(root);
  if (existing) check_same(root, *existing, spec);
  Maker maker(root, spec, existing.value_or(Manifest{}));
  if (!maker.is_complete() || !fs::exists(manifest_path(root))) {
    // May throw, before anything is written.
    const Compression compression = choose_compression(spec);
    make_folder(root);
    if (!existing) write_manifest(plan_path(root), plan(spec));
    maker.write_missing(compression);
  }
  std::error_code ignored;  // another process that made the same set may have removed it
  fs::remove(plan_path(root), ignored);
  return open_data_set(root);
}

}  // namespace

DataSet make_data_set(const fs::path& root, const DataSetSpec& spec) {
  check(spec);
  try {
    return make_or_finish(root, spec);
  } catch (const fs::filesystem_error& error) {
    throw ConfigError(fmt::format("{} cannot be used: {}. Choose a folder that can be written.",
                                  root.string(), error.code().message()));
  }
}

}  // namespace dlscale::train
