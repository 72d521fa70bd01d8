// The content-addressed store of compiled kernels, shared by any number of processes.
//
// An entry is <dir>/<name>-<first 16 digits of the key>.so (.cubin for CUDA), its source (.cpp,
// .cu) and its resource record (.json) beside it. The object ends with a line that holds the whole
// key and a checksum, so that one rename publishes an entry whole. Processes that make the same
// entry at once replace each other's equal files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jit/jit.h"

namespace ingot {

// Absolute; the environment's or the user's where the options name none.
std::string cache_directory(const JitOptions& options);

struct EntryPaths {
  std::string object, source, record;
};
enum class EntryKind { shared_object, cubin };
EntryPaths entry_paths(const std::string& directory, const std::string& name,
                       const std::string& key, EntryKind kind = EntryKind::shared_object);

enum class EntryState { absent, damaged, intact };
// Reads the object and compares key and checksum. An empty key accepts any. `object`, if not null,
// gets an intact entry's bytes as they were published.
EntryState check_entry(const std::string& object_path, const std::string& key,
                       std::string* object = nullptr);

// Removes what processes that are gone have left unfinished.
void remove_unfinished(const std::string& directory);
// Makes the directory. Error{input} with path and reason if nothing can be written there.
void require_writable(const std::string& directory);
// A name for a file that another process or thread does not use, in the same file system.
std::string temporary_path(const std::string& directory, const std::string& suffix);
// Writes a new file; Error{input} with path and reason.
void write_new_file(const std::string& path, std::string_view contents);
// Adds the line with key and checksum to a fresh object, syncs it and renames it into place.
void publish_object(const std::string& temporary, const std::string& object_path,
                    const std::string& key);
// Replaces a file in one step; false where that is not possible.
bool try_replace_file(const std::string& path, std::string_view contents);
// The contents; "" if it cannot be read.
std::string read_small_file(const std::string& path);

// To stderr, unless INGOT_LOG=quiet.
void warn(const std::string& message);

}  // namespace ingot
