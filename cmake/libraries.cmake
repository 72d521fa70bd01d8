# Libraries that are not ours. Each error names the Debian package (scripts/install.sh installs it).

function(ingot_require_header variable header package)
  find_path(${variable} ${header})
  if(NOT ${variable})
    message(FATAL_ERROR "<${header}> is missing: apt-get install ${package} (or scripts/install.sh)")
  endif()
endfunction()

# fmt: header-only costs 3 s a source file, the compiled library a tenth of that, and Debian has no
# static one. So its one source file is compiled here.
ingot_require_header(INGOT_FMT_INCLUDE fmt/format-inl.h libfmt-dev)
add_library(ingot_fmt STATIC cmake/fmt_library.cpp)
target_include_directories(ingot_fmt SYSTEM PUBLIC ${INGOT_FMT_INCLUDE})

# Headers only.
ingot_require_header(INGOT_CLI11_INCLUDE CLI/CLI.hpp libcli11-dev)
ingot_require_header(INGOT_JSON_INCLUDE nlohmann/json.hpp nlohmann-json3-dev)
ingot_require_header(INGOT_DLPACK_INCLUDE dlpack/dlpack.h libdlpack-dev)

# protobuf: static where there is a static library.
ingot_require_header(INGOT_PROTOBUF_INCLUDE google/protobuf/message.h libprotobuf-dev)
find_library(INGOT_PROTOBUF NAMES libprotobuf.a protobuf)
find_program(INGOT_PROTOC protoc)
if(NOT INGOT_PROTOBUF OR NOT INGOT_PROTOC)
  message(FATAL_ERROR
          "protobuf is missing: apt-get install libprotobuf-dev protobuf-compiler (or scripts/install.sh)")
endif()

# oneDNN: Debian's shared library. Not its CMake package, which asks for an OpenCL to build with.
ingot_require_header(INGOT_ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp libdnnl-dev)
find_library(INGOT_ONEDNN dnnl)
if(NOT INGOT_ONEDNN)
  message(FATAL_ERROR "libdnnl is missing: apt-get install libdnnl-dev (or scripts/install.sh)")
endif()
add_library(ingot_onednn INTERFACE)
target_include_directories(ingot_onednn SYSTEM INTERFACE ${INGOT_ONEDNN_INCLUDE})
target_link_libraries(ingot_onednn INTERFACE ${INGOT_ONEDNN})

# libevent: the HTTP server of `ingot lab`. Static where there is a static library.
if(PROJECT_IS_TOP_LEVEL)
  ingot_require_header(INGOT_LIBEVENT_INCLUDE event2/http.h libevent-dev)
  find_library(INGOT_LIBEVENT_CORE NAMES libevent_core.a event_core)
  find_library(INGOT_LIBEVENT_EXTRA NAMES libevent_extra.a event_extra)
  if(NOT INGOT_LIBEVENT_CORE OR NOT INGOT_LIBEVENT_EXTRA)
    message(FATAL_ERROR "libevent is missing: apt-get install libevent-dev (or scripts/install.sh)")
  endif()
  add_library(ingot_libevent INTERFACE)
  target_include_directories(ingot_libevent SYSTEM INTERFACE ${INGOT_LIBEVENT_INCLUDE})
  target_link_libraries(ingot_libevent INTERFACE ${INGOT_LIBEVENT_EXTRA} ${INGOT_LIBEVENT_CORE})
endif()

# What a machine that gets a copy of build/ may lack. libOpenCL is what Debian's oneDNN was linked
# with; ingot never calls it.
set(carried)
foreach(name libdnnl.so.2 libdnnl.so.3 libgomp.so.1 libOpenCL.so.1)
  find_file(INGOT_CARRIED_${name} ${name}
            PATHS /usr/lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE} /lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE}
                  /usr/lib64 /usr/lib)
  if(INGOT_CARRIED_${name})
    file(REAL_PATH ${INGOT_CARRIED_${name}} file)
    add_custom_command(
      OUTPUT ${PROJECT_BINARY_DIR}/lib/${name}
      COMMAND ${CMAKE_COMMAND} -E copy ${file} ${PROJECT_BINARY_DIR}/lib/${name}
      DEPENDS ${file}
      COMMENT "Copying ${name} to lib/")
    list(APPEND carried ${PROJECT_BINARY_DIR}/lib/${name})
  endif()
endforeach()
add_custom_target(ingot_carried_libraries ALL DEPENDS ${carried})
