#include "core/config/config_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/system/file_kind.hpp"
#include "core/text/near_words.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;

bool is_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".yaml");
}

/// Refuses a file that is plainly not what a group holds.
void check_kind(const fs::path& file, std::string_view group) {
  for (const auto& [name, kind] :
       {std::pair("networks", FileKind::network), std::pair("clusters", FileKind::cluster),
        std::pair("frameworks", FileKind::framework), std::pair("devices", FileKind::device),
        std::pair("suites", FileKind::suite), std::pair("systems", FileKind::system),
        std::pair("models", FileKind::scaling)}) {
    if (group == name) refuse_other_kind(file, kind);
  }
}

bool holds_configs(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder / "networks", ignored) &&
         fs::is_directory(folder / "clusters", ignored);
}

/// The configurations that came with the program, wherever both were moved: of an installation, or
/// of the sources that hold the folder of its build (build/release/dlscale). Empty without any.
fs::path beside_program() {
  constexpr int deepest_build = 3;
  std::error_code ignored;  // without /proc the path is empty
  fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const fs::path installed = folder.parent_path() / "share" / "dlscale" / "configs";
  if (folder.empty() || holds_configs(installed)) return folder.empty() ? folder : installed;
  for (int level = 0; level < deepest_build && folder.has_relative_path(); ++level) {
    folder = folder.parent_path();
    if (holds_configs(folder / "configs")) return folder / "configs";
  }
  return {};
}

/// Whether a folder is there and may be read. A program may have been built where its user may not
/// look.
bool is_open_folder(const fs::path& folder) {
  std::error_code closed;
  const fs::directory_iterator entries(folder, closed);
  return !closed;
}

}  // namespace

fs::path config_root() {
  if (const char* chosen = std::getenv("DLSCALE_CONFIGS"); chosen != nullptr) {
    if (is_open_folder(chosen)) return chosen;
    throw ConfigError(
        fmt::format("DLSCALE_CONFIGS is \"{}\", which is not a folder that can be read. Set it to "
                    "the folder that holds "
                    "networks/ and clusters/, or unset it.",
                    chosen));
  }
  static const fs::path beside = beside_program();
  for (const fs::path& root : {beside, fs::path(DLSCALE_CONFIGS_AT_BUILD)}) {
    if (!root.empty() && is_open_folder(root)) return root;
  }
  throw ConfigError(fmt::format(
      "the folder configs was found neither beside the program nor at {}. Set DLSCALE_CONFIGS to "
      "where it is.",
      DLSCALE_CONFIGS_AT_BUILD));
}

fs::path find_config(std::string_view group, std::string_view name) {
  if (is_path(name)) {
    std::error_code error;  // for example, a name that is too long is not a file
    if (fs::is_regular_file(name, error)) {
      check_kind(name, group);
      return name;
    }
    throw ConfigError(
        fmt::format("{} is not a file. Write the path of a YAML file, or a name from configs/{}.",
                    name, group));
  }
  fs::path path = config_root() / group / fmt::format("{}.yaml", name);
  std::error_code error;
  if (!name.empty() && fs::is_regular_file(path, error)) return path;
  std::string underscored(name);
  std::ranges::replace(underscored, '-', '_');
  path = config_root() / group / fmt::format("{}.yaml", underscored);
  if (!name.empty() && fs::is_regular_file(path, error)) return path;
  check_kind(name, group);
  const std::vector<std::string> names = nearest_first(name, config_names(group));
  throw ConfigError(
      fmt::format("{} has no \"{}\". {}There is: {}.", (config_root() / group).string(), name,
                  did_you_mean(near_words(name, names)),
                  names.empty() ? "nothing" : fmt::to_string(fmt::join(names, ", "))));
}

std::vector<std::string> config_names(std::string_view group) {
  std::vector<std::string> names;
  const fs::path folder = config_root() / group;
  if (!is_open_folder(folder)) return names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace dlscale
