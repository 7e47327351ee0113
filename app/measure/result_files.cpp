#include "app/measure/result_files.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

namespace dlscale::app {

std::vector<ResultFile> all_results(const std::vector<std::string>& paths) {
  std::vector<ResultFile> files;
  std::set<std::filesystem::path> taken;
  for (const std::string& path : paths) {
    for (ResultFile& file : read_result_tree(path)) {
      std::error_code nameless;
      const auto place = std::filesystem::canonical(file.path, nameless);
      if (nameless || taken.insert(place).second) files.push_back(std::move(file));
    }
  }
  return files;
}

std::vector<ResultFile> results_of(const std::vector<std::string>& paths,
                                   const std::vector<std::string_view>& benchmarks) {
  std::vector<ResultFile> files = all_results(paths);
  std::erase_if(files, [&](const ResultFile& file) {
    return std::ranges::find(benchmarks, file.header.benchmark) == benchmarks.end();
  });
  return files;
}

}  // namespace dlscale::app
