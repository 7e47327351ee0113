#include "backend/compute/cuda/cudnn/descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "backend/compute/cuda/runtime/call.hpp"

namespace dlscale::backend::cuda {

Descriptor::Descriptor(cudnnBackendDescriptorType_t type, std::shared_ptr<const std::string> what)
    : what_(std::move(what)) {
  cudnnBackendDescriptor_t raw = nullptr;
  check(cudnnBackendCreateDescriptor(type, &raw), "cudnnBackendCreateDescriptor", *what_);
  raw_.reset(raw);
}

void Descriptor::finalize() {
  check(try_finalize(), "cudnnBackendFinalize", *what_);
}

cudnnStatus_t Descriptor::try_finalize() {
  return cudnnBackendFinalize(raw_.get());
}

void Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& value) {
  set_descriptors(name, std::array{value.get()});
}

void Descriptor::set_descriptors(cudnnBackendAttributeName_t name,
                                 std::span<const cudnnBackendDescriptor_t> values) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(values.size()), values.data());
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     std::int64_t count, const void* values) {
  check(cudnnBackendSetAttribute(raw_.get(), name, type, count, values),
        fmt::format("cudnnBackendSetAttribute({})", static_cast<int>(name)), *what_);
}

std::int64_t Descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                             std::int64_t most, void* values) const {
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(raw_.get(), name, type, most, &count, values),
        fmt::format("cudnnBackendGetAttribute({})", static_cast<int>(name)), *what_);
  return std::min(count, most);
}

std::string Descriptor::text(cudnnBackendAttributeName_t name) const {
  const auto ask = [&](std::int64_t most, char* to) {
    std::int64_t count = 0;
    check(cudnnBackendGetAttribute(raw_.get(), name, CUDNN_TYPE_CHAR, most, &count, to),
          fmt::format("cudnnBackendGetAttribute({})", static_cast<int>(name)), *what_);
    return static_cast<std::size_t>(count);
  };
  std::string text(ask(0, nullptr), '\0');
  text.resize(std::min(text.size(), ask(static_cast<std::int64_t>(text.size()), text.data())));
  return text;
}

std::vector<Descriptor> Descriptor::descriptors(cudnnBackendAttributeName_t name,
                                                cudnnBackendDescriptorType_t type,
                                                std::int64_t most) const {
  std::vector<Descriptor> made;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < most; ++i) raw.push_back(made.emplace_back(type, what_).get());
  const std::int64_t count = get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, raw.data());
  made.erase(made.begin() + count, made.end());
  return made;
}

}  // namespace dlscale::backend::cuda
