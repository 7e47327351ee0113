#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace dlscale::backend {

/// What a message is made of.
enum class ElementType { f32, f64, bf16, f16, i32, i64, u8 };
inline constexpr std::array element_types{ElementType::f32, ElementType::f64, ElementType::bf16,
                                          ElementType::f16, ElementType::i32, ElementType::i64,
                                          ElementType::u8};
std::string_view to_string(ElementType type);  ///< "bf16"
std::size_t size_of(ElementType type);         ///< in bytes
/// The largest n so that all whole numbers from 0 to n are elements of this type.
double largest_whole(ElementType type);

/// What is made of the elements of all ranks.
enum class Reduction { sum, max, min };
inline constexpr std::array reductions{Reduction::sum, Reduction::max, Reduction::min};
std::string_view to_string(Reduction op);  ///< "sum"

/// Elements of one type, one after the other; of any alignment. `value` is rounded to nearest, ties
/// to even; to whole numbers only one that the type holds may be written.
void write_element(ElementType type, double value, std::byte* to);
double read_element(ElementType type, const std::byte* from);

/// accumulated[i] = accumulated[i] op other[i]; equally many of both.
/// Sums of whole numbers wrap around. Those of bf16 and f16 are made in f32 and rounded to nearest,
/// ties to even: infinite beyond the largest number, as f32 and f64 are. A maximum or minimum with
/// a NaN is a NaN; of zeros that differ in sign it is one of them. (MPI leaves all of this to the
/// library: a NaN may or may not survive its MPI_MAX of f32.)
void combine(ElementType type, Reduction op, std::span<const std::byte> other,
             std::span<std::byte> accumulated);

}  // namespace dlscale::backend
