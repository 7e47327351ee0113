#include "backend/compute/plan_cache.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>
#include <system_error>

#include "core/base/fnv1a.hpp"
#include "core/system/build_info.hpp"
#include "core/text/time_text.hpp"

namespace dlscale::backend {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::string_view schema = "dlscale-plan-choice";
constexpr int version = 1;

/// The value of a variable; nothing if it is unset or empty.
std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string conditions_text(const std::string& name, const std::map<std::string, std::string>& of) {
  const auto found = of.find(name);
  return found == of.end() ? fmt::format("no {}", name) : fmt::format("{} {}", name, found->second);
}

/// The first kept condition that differs; empty if none does.
std::string difference(const std::map<std::string, std::string>& kept,
                       const std::map<std::string, std::string>& wanted) {
  for (const auto& [name, value] : wanted) {
    const auto found = kept.find(name);
    if (found == kept.end() || found->second != value) return conditions_text(name, kept);
  }
  for (const auto& [name, value] : kept) {
    if (!wanted.contains(name)) return conditions_text(name, kept);
  }
  return "";
}

/// Checksum that detects a damaged file.
std::string check_of(const Json& json) {
  return fmt::format("{:016x}", fnv1a(json.dump()));
}

Json to_json(const std::map<std::string, std::string>& conditions, const std::string& key,
             const KeptChoice& choice) {
  Json json{{"schema", schema},
            {"version", version},
            {"conditions", conditions},
            {"key", key},
            {"name", choice.name},
            {"time_s", choice.time.si()},
            {"measured", choice.measured},
            {"data", choice.data}};
  if (!choice.note.empty()) json["note"] = choice.note;
  return json;
}

/// Nothing if the file was damaged.
std::optional<KeptChoice> parse_choice(Json json) {
  const auto check = json.at("check").get<std::string>();
  json.erase("check");
  if (check != check_of(json)) return std::nullopt;
  KeptChoice choice{json.at("name").get<std::string>(), Seconds(json.at("time_s").get<double>()),
                    json.at("measured").get<std::string>(), json.at("data").get<std::string>(),
                    json.value("note", std::string())};
  const bool measured = std::isfinite(choice.time.si()) && choice.time > Seconds();
  return measured ? std::optional(std::move(choice)) : std::nullopt;
}

/// A unique name, to be renamed later.
fs::path temporary_name(const fs::path& file) {
  std::random_device random;
  return fs::path(file).replace_extension(fmt::format(".{:08x}{:08x}.tmp", random(), random()));
}

/// Throws std::filesystem::filesystem_error.
void replace(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  const fs::path written = temporary_name(file);
  std::ofstream stream(written, std::ios::binary);
  stream << text << '\n';
  stream.close();
  std::error_code code = stream ? std::error_code() : std::make_error_code(std::errc::io_error);
  if (!code) fs::rename(written, file, code);
  if (!code) return;
  std::error_code ignored;
  fs::remove(written, ignored);
  throw fs::filesystem_error("cannot be written", file, code);
}

}  // namespace

std::optional<fs::path> plan_cache_folder() {
  if (const auto chosen = variable("DLSCALE_PLAN_CACHE")) {
    if (*chosen == "off") return std::nullopt;
    return fs::path(*chosen);
  }
  // A relative path must be ignored (XDG Base Directory Specification).
  if (const auto cache = variable("XDG_CACHE_HOME"); cache && fs::path(*cache).is_absolute()) {
    return fs::path(*cache) / "dlscale";
  }
  if (const auto home = variable("HOME")) return fs::path(*home) / ".cache" / "dlscale";
  return std::nullopt;
}

std::string now_text() {
  return utc_now();
}

std::map<std::string, std::string> conditions_of_program() {
  const BuildInfo build = build_info();
  return {{"dlscale", build.version},
          {"commit", build.commit + (build.dirty ? " with changes" : "")},
          {"build", build_id()}};
}

PlanCache::PlanCache(std::optional<fs::path> folder, std::map<std::string, std::string> conditions)
    : folder_(std::move(folder)), conditions_(std::move(conditions)) {}

/// The name depends only on GPU and key, so that an entry of other libraries is found, reported and
/// replaced.
fs::path PlanCache::file_of(const std::string& key) const {
  const std::string name = conditions_text("GPU", conditions_) + key;
  return *folder_ / "plans" / fmt::format("{:016x}.json", fnv1a(name));
}

PlanCache::Answer PlanCache::find(const std::string& key) const {
  if (!folder_) return {};
  std::ifstream stream(file_of(key), std::ios::binary);
  if (!stream) return {};
  try {
    const Json json = Json::parse(stream);
    if (json.at("schema").get<std::string>() != schema)
      return {.note = "what is kept is not a choice of dlscale"};
    if (json.at("version") != version)
      return {.note = "the kept choice is of another format"};
    if (json.at("key").get<std::string>() != key)
      return {.note = "the kept choice is for other work"};
    const auto kept = json.at("conditions").get<std::map<std::string, std::string>>();
    if (const std::string other = difference(kept, conditions_); !other.empty()) {
      return {.note = "the kept choice is of " + other};
    }
    if (auto choice = parse_choice(json)) return {.choice = std::move(choice)};
  } catch (const Json::exception&) {  // reported below
  }
  return {.note = "the kept choice is broken"};
}

void PlanCache::keep(const std::string& key, const KeptChoice& choice) {
  if (!folder_ || choice.time <= Seconds()) return;
  try {
    Json json = to_json(conditions_, key, choice);
    json["check"] = check_of(json);
    replace(file_of(key), json.dump());
  } catch (const std::exception& error) {
    if (std::exchange(warned_, true)) return;
    fmt::print(
        stderr,
        "dlscale: the choice of plans cannot be kept ({}), so that the next process measures "
        "again. Set DLSCALE_PLAN_CACHE to a folder that can be written, or to off.\n",
        error.what());
  }
}

}  // namespace dlscale::backend
