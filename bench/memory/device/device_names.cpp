#include <array>

#include "bench/memory/axes/named.hpp"
#include "bench/memory/device/device_cells.hpp"

namespace dlscale::bench {
namespace {

using backend::ChasePath;
using backend::Company;
using backend::HostMemory;

constexpr std::array paths{Named<ChasePath>{"all_caches", ChasePath::all_caches},
                           Named<ChasePath>{"l2", ChasePath::shared_l2}};
constexpr std::array memories{Named<HostMemory>{"pageable", HostMemory::pageable},
                              Named<HostMemory>{"pinned", HostMemory::pinned},
                              Named<HostMemory>{"registered", HostMemory::registered}};
constexpr std::array companies{Named<Company>{"solo", Company::solo},
                               Named<Company>{"bidirectional", Company::bidirectional},
                               Named<Company>{"kernel", Company::kernel}};

}  // namespace

std::string_view path_name(ChasePath path) {
  return name_of<ChasePath>(path, paths);
}
std::string_view memory_name(HostMemory memory) {
  return name_of<HostMemory>(memory, memories);
}
std::string_view company_name(Company company) {
  return name_of<Company>(company, companies);
}

ChasePath parse_path(std::string_view name) {
  return value_of<ChasePath>(name, paths, "--paths");
}
HostMemory parse_memory(std::string_view name) {
  return value_of<HostMemory>(name, memories, "--host-memory");
}
Company parse_company(std::string_view name) {
  return value_of<Company>(name, companies, "--company");
}

}  // namespace dlscale::bench
