#pragma once
#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace dlscale::backend::cuda {

/// The attribute type of cuDNN's backend API for a C++ type.
template <class T>
constexpr cudnnBackendAttributeType_t attribute_type() {
  if constexpr (std::is_same_v<T, std::int64_t>) return CUDNN_TYPE_INT64;
  if constexpr (std::is_same_v<T, float>) return CUDNN_TYPE_FLOAT;
  if constexpr (std::is_same_v<T, bool>) return CUDNN_TYPE_BOOLEAN;
  if constexpr (std::is_same_v<T, char>) return CUDNN_TYPE_CHAR;
  if constexpr (std::is_same_v<T, void*>) return CUDNN_TYPE_VOID_PTR;
  if constexpr (std::is_same_v<T, cudnnHandle_t>) return CUDNN_TYPE_HANDLE;
  if constexpr (std::is_same_v<T, cudnnDataType_t>) return CUDNN_TYPE_DATA_TYPE;
  if constexpr (std::is_same_v<T, cudnnConvolutionMode_t>) return CUDNN_TYPE_CONVOLUTION_MODE;
  if constexpr (std::is_same_v<T, cudnnPointwiseMode_t>) return CUDNN_TYPE_POINTWISE_MODE;
  if constexpr (std::is_same_v<T, cudnnBackendHeurMode_t>) return CUDNN_TYPE_HEUR_MODE;
  if constexpr (std::is_same_v<T, cudnnBackendKnobType_t>) return CUDNN_TYPE_KNOB_TYPE;
  if constexpr (std::is_same_v<T, cudnnBackendNumericalNote_t>) return CUDNN_TYPE_NUMERICAL_NOTE;
  if constexpr (std::is_same_v<T, cudnnBackendBehaviorNote_t>) return CUDNN_TYPE_BEHAVIOR_NOTE;
}

/// A descriptor of cuDNN's backend API: its attributes are set, it is finalized, and then it can be
/// read and used. Errors name `what` it is made for ("layer conv1 (…)"): LibraryError, and
/// Unsupported where cuDNN does not offer what the attributes request.
class Descriptor {
 public:
  Descriptor(cudnnBackendDescriptorType_t type, std::shared_ptr<const std::string> what);

  template <class T>
  void set(cudnnBackendAttributeName_t name, const T& value) {
    set(name, attribute_type<T>(), 1, &value);
  }
  template <class T>
  void set_list(cudnnBackendAttributeName_t name, std::span<const T> values) {
    set(name, attribute_type<T>(), static_cast<std::int64_t>(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value);
  void set_descriptors(cudnnBackendAttributeName_t name,
                       std::span<const cudnnBackendDescriptor_t> values);

  void finalize();
  /// Returns the status code, for callers to which failure is an answer.
  [[nodiscard]] cudnnStatus_t try_finalize();

  template <class T>
  [[nodiscard]] T get(cudnnBackendAttributeName_t name) const {
    T value{};
    get(name, attribute_type<T>(), 1, &value);
    return value;
  }
  /// Reads text of any length.
  [[nodiscard]] std::string text(cudnnBackendAttributeName_t name) const;
  /// Reads at most `most` values.
  template <class T>
  [[nodiscard]] std::vector<T> list(cudnnBackendAttributeName_t name, std::int64_t most) const {
    std::vector<T> values(static_cast<std::size_t>(most));
    values.resize(static_cast<std::size_t>(get(name, attribute_type<T>(), most, values.data())));
    return values;
  }
  /// Fills the descriptors that the attribute holds.
  [[nodiscard]] std::vector<Descriptor> descriptors(cudnnBackendAttributeName_t name,
                                                    cudnnBackendDescriptorType_t type,
                                                    std::int64_t most) const;

  [[nodiscard]] cudnnBackendDescriptor_t get() const { return raw_.get(); }
  [[nodiscard]] const std::shared_ptr<const std::string>& what() const { return what_; }

 private:
  struct Destroy {
    void operator()(cudnnBackendDescriptor_t raw) const noexcept {
      static_cast<void>(cudnnBackendDestroyDescriptor(raw));
    }
  };
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   std::int64_t most, void* values) const;

  std::shared_ptr<const std::string> what_;
  std::unique_ptr<void, Destroy> raw_;
};

}  // namespace dlscale::backend::cuda
