#include "backend/comm/nccl/profile.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

namespace fs = std::filesystem;

constexpr const char* variable = "NCCL_PROFILER_PLUGIN";
constexpr const char* file_name = "libnccl-profiler-dlscale.so";
/// NCCL truncates longer names [src/plugin/plugin_open.cc: MAX_STR_LEN].
constexpr std::size_t longest_name = 254;

fs::path beside_program() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "lib" / "dlscale" / file_name;
}

template <class Function>
Function look_up(void* library, const char* name) {
  void* found = ::dlsym(library, name);
  Function function = nullptr;
  std::memcpy(&function, &found, sizeof found);
  return function;
}

/// The plugin in NCCL's variable, if it is ours.
fs::path offered() {
  const char* chosen = std::getenv(variable);
  fs::path ours = find_profiler();
  if (ours.empty()) {
    throw Unsupported(
        fmt::format("NCCL's choice of algorithm is not known: {} is neither beside the program nor "
                    "where it was "
                    "built. Build all targets, or install.",
                    file_name));
  }
  if (ours.native().size() > longest_name) {
    throw Unsupported(fmt::format(
        "NCCL's choice of algorithm is not known: it does not load plugins whose path is longer "
        "than {} characters, as {} is. Build in a shorter folder.",
        longest_name, ours.string()));
  }
  if (chosen != nullptr && ours != chosen) {
    throw Unsupported(
        fmt::format("NCCL's choice of algorithm is not known: {} is set to {}, which takes the "
                    "place of dlscale's plugin. Unset it.",
                    variable, chosen));
  }
  return ours;
}

}  // namespace

fs::path find_profiler() {
  std::error_code ignored;
  for (const fs::path& path : {beside_program(), fs::path(DLSCALE_NCCL_PROFILER)}) {
    if (fs::is_regular_file(path, ignored)) return path;
  }
  return {};
}

void offer_profiler() {
  const fs::path plugin = find_profiler();
  if (plugin.empty() || plugin.native().size() > longest_name) return;
  ::setenv(variable, plugin.c_str(), 0);
}

Profile::Profile() : Profile(offered()) {}

Profile::Profile(const fs::path& plugin) {
  // The same object that NCCL opens under this name. It stays open, because NCCL may be using it.
  void* library = ::dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) {
    watch_ = look_up<nccl_profiler::WatchFunction>(library, nccl_profiler::watch_symbol);
    read_ = look_up<nccl_profiler::ReadFunction>(library, nccl_profiler::read_symbol);
  }
  if (watch_ == nullptr || read_ == nullptr) {
    throw Unsupported(
        fmt::format("{} is not a profiler plugin of dlscale, or of another version. "
                    "Build all targets again.",
                    plugin.string()));
  }
  watch_(1);
  read();
}

Profile::~Profile() {
  watch_(0);
}

std::vector<nccl_profiler::Note> Profile::read() {
  std::vector<nccl_profiler::Note> notes;
  std::array<nccl_profiler::Note, 64> some;
  std::uint64_t lost = 0;
  for (;;) {
    const std::size_t count = read_(some.data(), some.size(), &lost);
    if (count == 0) return notes;
    notes.insert(notes.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  }
}

}  // namespace dlscale::backend::gpu_comm
