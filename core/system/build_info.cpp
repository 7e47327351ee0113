#include "core/system/build_info.hpp"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace dlscale {
namespace {

using Memory = std::span<const unsigned char>;

std::size_t padded(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

std::string hexadecimal(Memory bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// The build id among the notes of a segment; empty if there is none. Each note is a header, a name
/// and a description [System V ABI, "Note Section"; elf(5)].
std::string build_id_among(Memory notes, std::size_t alignment) {
  constexpr std::string_view owner("GNU\0", 4);
  ElfW(Nhdr) head = {};
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    const std::size_t name = sizeof head;
    const std::size_t description = padded(name + head.n_namesz, alignment);
    const std::size_t end = description + head.n_descsz;
    if (end > notes.size()) return "";
    const bool is_owner =
        head.n_namesz == owner.size() && std::memcmp(&notes[name], owner.data(), owner.size()) == 0;
    if (is_owner && head.n_type == NT_GNU_BUILD_ID) {
      return hexadecimal(notes.subspan(description, head.n_descsz));
    }
    notes = notes.subspan(std::min(padded(end, alignment), notes.size()));
  }
  return "";
}

/// Inspects the program itself, which comes first [dl_iterate_phdr(3)], and stops there.
int look_at_program(dl_phdr_info* program, std::size_t /*bytes*/, void* found) {
  for (const ElfW(Phdr) & part : std::span(program->dlpi_phdr, program->dlpi_phnum)) {
    if (part.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the system gives addresses as numbers
    const auto* start = reinterpret_cast<const unsigned char*>(program->dlpi_addr + part.p_vaddr);
    const std::string id = build_id_among({start, part.p_memsz}, part.p_align == 8 ? 8 : 4);
    if (!id.empty()) *static_cast<std::string*>(found) = id;
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string id = unknown_build;
  dl_iterate_phdr(look_at_program, &id);
  return id;
}

}  // namespace dlscale
