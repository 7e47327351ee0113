#include "train/data/manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/error.hpp"
#include "core/base/fnv1a.hpp"
#include "core/base/remedy.hpp"
#include "core/results/json_count.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "train/data/data.hpp"
#include "train/data/file.hpp"

namespace dlscale::train {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* schema = "dlscale.data_set";
constexpr int version = 1;

Remedy making(const fs::path& root) {
  return {.kind = Remedy::Kind::make_data_set, .subject = root.string()};
}

[[noreturn]] void refuse_manifest(const fs::path& path, const std::string& problem) {
  throw RemediableError(
      fmt::format("{}: {}. Delete it and make the data set again.", path.string(), problem),
      making(path.parent_path()));
}

json to_json(const DataSetSpec& spec) {
  return {{"classes", spec.classes}, {"pictures", spec.pictures},         {"width", spec.width},
          {"height", spec.height},   {"target_bytes", spec.target_bytes}, {"seed", spec.seed}};
}

template <class Number>
Number count(const json& value, const char* name) {
  return json_count<Number>(value.at(name), name);
}

DataSetSpec spec_from(const json& value) {
  DataSetSpec spec;
  spec.classes = count<int>(value, "classes");
  spec.pictures = count<int>(value, "pictures");
  spec.width = count<int>(value, "width");
  spec.height = count<int>(value, "height");
  value.at("target_bytes").get_to(spec.target_bytes);
  spec.seed = count<std::uint64_t>(value, "seed");
  return spec;
}

json to_json(const Manifest::Entry& entry) {
  return {{"path", entry.path},
          {"label", entry.label},
          {"bytes", entry.bytes},
          {"fnv1a", fmt::format("{:016x}", entry.checksum)}};
}

Manifest::Entry entry_from(const json& value) {
  Manifest::Entry entry;
  value.at("path").get_to(entry.path);
  entry.label = count<std::int32_t>(value, "label");
  entry.bytes = count<std::int64_t>(value, "bytes");
  entry.checksum = std::stoull(value.value("fnv1a", "0"), nullptr, 16);
  return entry;
}

/// Whether a path stays inside the folder of its manifest.
bool stays_inside(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return !normal.empty() && normal.is_relative() && *normal.begin() != "..";
}

void check_entries(const fs::path& path, const Manifest& manifest) {
  for (std::size_t i = 0; i < manifest.pictures.size(); ++i) {
    const Manifest::Entry& entry = manifest.pictures[i];
    if (!stays_inside(entry.path)) {
      refuse_manifest(path, fmt::format("/pictures/{}/path \"{}\" is outside of the folder", i,
                                        escape_for_terminal(entry.path)));
    }
    if (entry.label >= std::ssize(manifest.classes)) {
      refuse_manifest(path, fmt::format("/pictures/{}/label is {}, but there are {} classes", i,
                                        entry.label, manifest.classes.size()));
    }
  }
}

Manifest manifest_from(const fs::path& path, const json& document) {
  if (document.value("schema", "") != schema || document.value("version", json()) != version) {
    refuse_manifest(path, fmt::format("this is not \"{}\" version {}", schema, version));
  }
  Manifest manifest;
  if (document.contains("spec")) manifest.spec = spec_from(document["spec"]);
  document.at("classes").get_to(manifest.classes);
  for (const json& value : document.at("pictures")) manifest.pictures.push_back(entry_from(value));
  return manifest;
}

void check_folder(const fs::path& root) {
  std::error_code ignored;
  const char* problem = nullptr;
  if (!fs::exists(root, ignored)) {
    problem = "does not exist";
  } else if (!fs::is_directory(root, ignored)) {
    problem = "is not a folder";
  } else if (!fs::exists(manifest_path(root), ignored)) {
    problem = "has no manifest.json, so it is not a (finished) data set";
  }
  if (problem == nullptr) return;
  throw RemediableError(fmt::format("{} {}. Make a data set.", root.string(), problem),
                        making(root));
}

void check_picture(const fs::path& root, const DataSet::Picture& picture) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(picture.path, error);
  if (!error && bytes == static_cast<std::uintmax_t>(picture.bytes)) return;
  const std::string problem =
      error ? fmt::format("cannot be read ({})", error.message())
            : fmt::format("is truncated or was replaced: it has {} bytes, the manifest says {}",
                          bytes, picture.bytes);
  throw RemediableError(
      fmt::format("{} {}. Restore it; a set that dlscale made can be made again with the same "
                  "options.",
                  picture.path.string(), problem),
      making(root));
}

}  // namespace

fs::path manifest_path(const fs::path& root) {
  return root / "manifest.json";
}

Manifest read_manifest(const fs::path& path) {
  std::vector<std::uint8_t> text;
  read_file(path, text);
  try {
    Manifest manifest = manifest_from(path, json::parse(text));
    check_entries(path, manifest);
    return manifest;
  } catch (const RemediableError&) {
    throw;
  } catch (const ConfigError& error) {  // of a number
    refuse_manifest(path, error.what());
  } catch (const json::exception& error) {
    refuse_manifest(path,
                    json_problem(error, {reinterpret_cast<const char*>(text.data()), text.size()}));
  } catch (const std::logic_error&) {  // std::stoull
    refuse_manifest(path, "an \"fnv1a\" is not a hexadecimal number");
  }
}

void write_manifest(const fs::path& path, const Manifest& manifest) {
  json document{{"schema", schema}, {"version", version}, {"classes", manifest.classes}};
  if (manifest.spec) document["spec"] = to_json(*manifest.spec);
  document["pictures"] = json::array();
  for (const auto& entry : manifest.pictures) document["pictures"].push_back(to_json(entry));
  const std::string text = document.dump(1) + "\n";
  write_file(path, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::uint64_t checksum(std::span<const std::uint8_t> bytes) {
  return fnv1a({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

DataSet open_data_set(const fs::path& root) {
  check_folder(root);
  Manifest manifest = read_manifest(manifest_path(root));
  DataSet data{root, std::move(manifest.classes), {}};
  for (const Manifest::Entry& entry : manifest.pictures) {
    data.pictures.push_back({root / entry.path, entry.label, entry.bytes});
    check_picture(root, data.pictures.back());
  }
  if (data.pictures.empty()) {
    throw RemediableError(
        fmt::format("{} names no pictures, so there is nothing to load. Make the data set again.",
                    manifest_path(root).string()),
        making(root));
  }
  return data;
}

}  // namespace dlscale::train
