#include "app/obstacle.hpp"

#include "core/error.hpp"

namespace dlscale::app {

std::string obstacle(const backend::ComputeBackend& member) {
  try {
    static_cast<void>(member.open({}));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string obstacle(const backend::CommBackend& member) {
  return member.obstacle == nullptr ? "" : member.obstacle();
}

}  // namespace dlscale::app
