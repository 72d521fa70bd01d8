#include "jit/cubin.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

#include "base/error.h"

namespace ingot {
namespace {

constexpr uint16_t machine_cuda = 190;
constexpr uint32_t type_symbols = 2, type_no_bits = 8;

// Attributes of .nv.info sections: a format byte, a kind byte, 16 bits that are the value or, in
// the long format, the length of what follows.
constexpr uint8_t format_long = 4, format_half = 3;
constexpr uint8_t attribute_max_threads = 0x05, attribute_frame = 0x11, attribute_stack = 0x12,
                  attribute_parameters = 0x19, attribute_registers = 0x2f;

// From compute capability 9 on, the driver's share of a block's shared memory stands at the
// beginning of the kernel's own section.
constexpr int64_t reserved_shared_bytes = 1024;
constexpr int first_capability_with_reserved = 90;

constexpr int64_t instruction_bytes = 16;
constexpr uint64_t opcode_mask = 0xfff, opcode_nop = 0x918;
// The three bits above the opcode say where the operands come from.
constexpr uint64_t opcode_base_mask = 0x1ff, opcode_base_special = 0x108;

[[noreturn]] void fail_damaged(const std::string& what) {
  throw Error(ErrorKind::input, fmt::format("not a whole cubin: {}", what));
}

std::string_view part(std::string_view bytes, uint64_t offset, uint64_t size, const char* what) {
  if (offset > bytes.size() || size > bytes.size() - offset) {
    fail_damaged(fmt::format("{} (bytes {} to {}+{}) lies outside its {} bytes", what, offset,
                             offset, size, bytes.size()));
  }
  return bytes.substr(offset, size);
}

template <class Integer>
Integer integer_at(std::string_view bytes, uint64_t offset, const char* what) {
  Integer value;
  std::memcpy(&value, part(bytes, offset, sizeof value, what).data(), sizeof value);
  return value;
}

std::string_view text_at(std::string_view table, uint64_t offset, const char* what) {
  const std::string_view rest =
      part(table, offset, table.size() - std::min<uint64_t>(offset, table.size()), what);
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos) fail_damaged(fmt::format("{} has no end", what));
  return rest.substr(0, end);
}

struct Section {
  std::string_view name, bytes;  // bytes: empty where the section takes none in the file
  uint32_t type;
  int64_t size;
};

std::vector<Section> read_sections(std::string_view file) {
  const uint64_t offset = integer_at<uint64_t>(file, 40, "header");
  const uint16_t entry_size = integer_at<uint16_t>(file, 58, "header");
  const uint16_t count = integer_at<uint16_t>(file, 60, "header");
  const uint16_t names_index = integer_at<uint16_t>(file, 62, "header");
  // What we do not read must be there too: the driver does.
  part(
      file, integer_at<uint64_t>(file, 32, "header"),
      uint64_t{integer_at<uint16_t>(file, 54, "header")} * integer_at<uint16_t>(file, 56, "header"),
      "table of segments");
  if (entry_size < 64 || names_index >= count) fail_damaged("its section headers are malformed");
  const std::string_view table =
      part(file, offset, uint64_t{entry_size} * count, "table of sections");
  std::vector<Section> sections;
  std::vector<uint32_t> name_offsets;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view entry = table.substr(i * entry_size, entry_size);
    Section section{};
    name_offsets.push_back(integer_at<uint32_t>(entry, 0, "section header"));
    section.type = integer_at<uint32_t>(entry, 4, "section header");
    const uint64_t begin = integer_at<uint64_t>(entry, 24, "section header");
    const uint64_t size = integer_at<uint64_t>(entry, 32, "section header");
    if (size > (uint64_t{1} << 40)) fail_damaged("a section's size is out of range");
    section.size = static_cast<int64_t>(size);
    if (section.type != type_no_bits) section.bytes = part(file, begin, size, "section");
    sections.push_back(section);
  }
  const std::string_view names = sections[names_index].bytes;
  for (size_t i = 0; i < count; ++i) {
    sections[i].name = text_at(names, name_offsets[i], "section name");
  }
  return sections;
}

const Section* find_section(const std::vector<Section>& sections, std::string_view name) {
  const auto found = std::ranges::find(sections, name, &Section::name);
  return found == sections.end() ? nullptr : &*found;
}

// The kernels' names by index in the table of symbols.
std::map<uint32_t, std::string_view> read_symbols(const std::vector<Section>& sections) {
  std::map<uint32_t, std::string_view> names;
  const Section* strings = find_section(sections, ".strtab");
  for (const Section& section : sections) {
    if (section.type != type_symbols || strings == nullptr) continue;
    constexpr size_t symbol_bytes = 24;
    for (size_t i = 0; i < section.bytes.size() / symbol_bytes; ++i) {
      const uint32_t name = integer_at<uint32_t>(section.bytes, i * symbol_bytes, "symbol");
      names[static_cast<uint32_t>(i)] = text_at(strings->bytes, name, "symbol's name");
    }
  }
  return names;
}

struct Attribute {
  uint8_t kind;
  uint16_t value;             // of the short formats
  std::string_view contents;  // of the long one
};

std::vector<Attribute> read_attributes(std::string_view bytes) {
  std::vector<Attribute> attributes;
  for (size_t at = 0; at < bytes.size();) {
    const auto format = integer_at<uint8_t>(bytes, at, "attribute");
    const auto kind = integer_at<uint8_t>(bytes, at + 1, "attribute");
    const auto value = integer_at<uint16_t>(bytes, at + 2, "attribute");
    at += 4;
    const uint16_t length = format == format_long ? value : uint16_t{0};
    const uint16_t half = format == format_half ? value : uint16_t(value & 0xff);
    attributes.push_back({kind, half, part(bytes, at, length, "attribute")});
    at += length;
  }
  return attributes;
}

// By attribute and symbol.
using SymbolValues = std::map<std::pair<uint8_t, uint32_t>, int64_t>;

SymbolValues read_symbol_values(const std::vector<Section>& sections) {
  SymbolValues values;
  const Section* info = find_section(sections, ".nv.info");
  if (info == nullptr) fail_damaged("it has no section .nv.info");
  for (const Attribute& attribute : read_attributes(info->bytes)) {
    if (attribute.contents.size() != 8) continue;
    const uint32_t symbol = integer_at<uint32_t>(attribute.contents, 0, "attribute");
    values[{attribute.kind, symbol}] = integer_at<uint32_t>(attribute.contents, 4, "attribute");
  }
  return values;
}

void count_instructions(std::string_view code, CudaKernelResources& kernel) {
  for (size_t at = 0; at + instruction_bytes <= code.size(); at += instruction_bytes) {
    const uint64_t word = integer_at<uint64_t>(code, at, "instruction");
    kernel.instructions += (word & opcode_mask) == opcode_nop ? 0 : 1;
    kernel.special_instructions += (word & opcode_base_mask) == opcode_base_special ? 1 : 0;
  }
}

// "-arch sm_90a" of the assembler's note; without one the number in the header's flags, whose place
// depends on the version of the format.
std::string read_architecture(std::string_view file, const std::vector<Section>& sections) {
  const Section* note = find_section(sections, ".note.nv.tkinfo");
  const std::string_view text = note == nullptr ? std::string_view{} : note->bytes;
  const size_t at = text.find("-arch sm_");
  if (at != std::string_view::npos) {
    const std::string_view from = text.substr(at + 6);
    return std::string(from.substr(0, from.find_first_of(std::string_view(" \0", 2))));
  }
  const auto version = integer_at<uint8_t>(file, 8, "header");
  const auto flags = integer_at<uint32_t>(file, 48, "header");
  return fmt::format("sm_{}", version >= 8 ? (flags >> 8) & 0xff : flags & 0xff);
}

int capability_of(std::string_view architecture) {
  int number = 0;
  const std::string_view digits = architecture.substr(std::min<size_t>(3, architecture.size()));
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// The number in front of `unit` in a line, as in "16 bytes spill stores".
int64_t number_before(std::string_view line, std::string_view unit) {
  const size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int64_t number = 0;
  std::from_chars(line.data() + begin, line.data() + at, number);
  return number;
}

// From "Function properties for NAME" and the line below it.
void read_spills(std::string_view log, CudaKernelResources& kernel) {
  const std::string title = "Function properties for " + kernel.name + "\n";
  const size_t at = log.find(title);
  if (at == std::string_view::npos) {
    throw Error(ErrorKind::input,
                fmt::format("the assembler's log does not speak of kernel '{}'", kernel.name));
  }
  std::string_view line = log.substr(at + title.size());
  line = line.substr(0, line.find('\n'));
  kernel.spill_store_bytes = number_before(line, " bytes spill stores");
  kernel.spill_load_bytes = number_before(line, " bytes spill loads");
}

void read_kernel_attributes(std::string_view info, CudaKernelResources& kernel) {
  for (const Attribute& attribute : read_attributes(info)) {
    if (attribute.kind == attribute_parameters) kernel.parameter_bytes = attribute.value;
    if (attribute.kind != attribute_max_threads || attribute.contents.size() != 12) continue;
    kernel.max_threads = 1;
    for (const uint64_t axis : {0, 4, 8}) {
      kernel.max_threads *= integer_at<uint32_t>(attribute.contents, axis, "attribute");
    }
  }
}

}  // namespace

CubinResources read_cubin(std::string_view cubin, std::string_view log) {
  if (!part(cubin, 0, 64, "header").starts_with("\177ELF\2\1") ||
      integer_at<uint16_t>(cubin, 18, "header") != machine_cuda) {
    fail_damaged("it does not begin like one");
  }
  const std::vector<Section> sections = read_sections(cubin);
  const std::map<uint32_t, std::string_view> symbols = read_symbols(sections);
  const SymbolValues values = read_symbol_values(sections);

  CubinResources found;
  found.architecture = read_architecture(cubin, sections);
  const bool reserved = capability_of(found.architecture) >= first_capability_with_reserved;
  for (const Section& section : sections) {
    constexpr std::string_view info_prefix = ".nv.info.";
    if (!section.name.starts_with(info_prefix)) continue;
    CudaKernelResources& kernel = found.kernels.emplace_back();
    kernel.name = section.name.substr(info_prefix.size());
    const Section* code = find_section(sections, ".text." + kernel.name);
    if (code == nullptr) fail_damaged(fmt::format("kernel '{}' has no code", kernel.name));
    kernel.code_bytes = code->size;
    count_instructions(code->bytes, kernel);
    read_kernel_attributes(section.bytes, kernel);
    for (const Section& other : sections) {
      if (other.name.starts_with(".nv.constant") && other.name.ends_with("." + kernel.name)) {
        kernel.constant_bytes += other.size;
      }
    }
    if (const Section* shared = find_section(sections, ".nv.shared." + kernel.name)) {
      kernel.shared_bytes =
          std::max<int64_t>(0, shared->size - (reserved ? reserved_shared_bytes : 0));
    }
    for (const auto& symbol : symbols) {
      if (symbol.second != kernel.name) continue;
      const auto value = [&](uint8_t attribute) {
        const auto at = values.find({attribute, symbol.first});
        return at == values.end() ? int64_t{0} : at->second;
      };
      kernel.registers = value(attribute_registers);
      kernel.local_bytes = value(attribute_frame);
      kernel.stack_bytes = value(attribute_stack);
    }
    read_spills(log, kernel);
  }
  std::ranges::sort(found.kernels, {}, &CudaKernelResources::name);
  return found;
}

const CudaKernelResources& resources_of(const CubinResources& cubin, const std::string& kernel) {
  const auto found = std::ranges::find(cubin.kernels, kernel, &CudaKernelResources::name);
  INGOT_CHECK(found != cubin.kernels.end(), "no kernel '{}' in the cubin", kernel);
  return *found;
}

}  // namespace ingot
