#include "core/network/listed_network.hpp"

namespace dlscale {
namespace {

std::string ending(std::string_view layer) {
  std::string end(1, '_');  // not "_" + …, for which GCC 12 gives a false warning when optimising
  end += layer;
  return end;
}

}  // namespace

std::string listed_network(std::string_view list, std::string_view layer) {
  return std::string(list) + ending(layer);
}

std::string set_of(std::string network, std::string_view layer) {
  const std::string end = ending(layer);
  if (network.ends_with(end)) network.resize(network.size() - end.size());
  return network;
}

}  // namespace dlscale
